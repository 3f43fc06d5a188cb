"""Places in which programs keep objects by mistake, and the fix for each.

Each entry is one fact, with its source. The entries are tried in order, and the first match counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from leakguard.analysis.knowledge.advice import KEPT_EXCEPTION
from leakguard.analysis.knowledge.handles import POOLS
from leakguard.analysis.tolerance import MAJORITY, NEARBY_TYPES
from leakguard.model import Holder
from leakguard.model.finding import Kind


@dataclass(frozen=True, slots=True)
class Place:
    """A place that is known by its path from a root, or by the types on the path to its entries.

    Attributes:
        name: what such a place is called.
        fix: what to change; ``{path}`` stands for the container.
        source: where the place is documented.
        called: what a person calls the container, if a library determines its path.
        kind: the kind of finding, if another fits better than the type's own; None for the type's
            own.
        path: a regular expression that is searched in the path.
        types: a regular expression that is searched in the names of the entries' type and of the
            last types on the path.
        account: True if the interpreter keeps records there of objects that others made and own.
        bound: the most entries that a library keeps there, which a walk cannot read.
    """

    name: str
    fix: str
    kind: Kind | None = None
    path: str | None = None
    types: str | None = None
    source: str = ""
    called: str | None = None
    account: bool = False
    bound: int | None = None

    def fits(self, path: str, types: Iterable[str]) -> bool:
        """Return True for a container at ``path`` with these types in and around it."""
        if self.path is not None and re.search(self.path, path) is None:
            return False
        return self.types is None or any(re.search(self.types, name) for name in types)


PLACES: tuple[Place, ...] = (
    Place(
        "timers of an event loop",
        "keep the handle that call_later or call_at returns and call handle.cancel() when it is "
        "no longer needed; of a task that sleeps (asyncio.sleep, wait_for) call task.cancel(): "
        "until its time comes the event loop keeps the callback with its arguments; let those be "
        "small (a number, a weak reference)",
        path=r"\._scheduled(\[|$)",
        types=r"^asyncio\.",
        source="asyncio.loop.call_later returns a TimerHandle",
        called="timers of the running event loop (call_later / call_at)",
    ),
    Place(
        "callbacks that wait for the event loop",
        "schedule no faster than the loop runs: await between calls of call_soon, and keep "
        "blocking work out of the loop's thread (asyncio.to_thread)",
        kind="queue",
        path=r"\._ready(\[|$)",
        types=r"^asyncio\.events\.",
        source="asyncio.loop.call_soon",
        called="callbacks that wait for the event loop (call_soon)",
    ),
    Place(
        "tasks that asyncio keeps account of",
        "end the tasks: await, cancel or time out each one, and let go of those that are done; "
        "asyncio only notes which are alive",
        kind="tasks",
        path=r"^_?asyncio(\.tasks)?\._(all|scheduled|eager)_tasks",
        source="asyncio.all_tasks",
        called="tasks of asyncio that are alive (asyncio.all_tasks)",
    ),
    Place(
        "functions for the end of the program",
        "register once, or atexit.unregister(function) when the object is done: what is registered "
        "lives until the program ends",
        path=r"^atexit\b|multiprocessing\.util\._finalizer_registry",
        source="atexit.unregister",
        called="functions registered with atexit",
        account=True,
    ),
    Place(
        "digests of the messages of a Jupyter kernel",
        "nothing: jupyter_client drops old digests once there are 65,536",
        path=r"\bdigest_history\b",
        source="jupyter_client.session.Session.digest_history_size",
        called="digests of messages that a Jupyter session has seen",
        bound=65_536,
    ),
    Place(
        "callbacks of the collector",
        "gc.callbacks.remove(function) when it is no longer needed, or append it once",
        path=r"^gc\.callbacks",
        source="gc.callbacks",
    ),
    Place(
        "signal handlers",
        "set the handler that was there before back (signal.signal returns it): a handler keeps "
        "its object, and one that calls the former keeps the whole chain",
        path=r"^signal handler ",
        source="signal.signal returns the previous handler",
    ),
    Place(
        "loggers under new names",
        "use a fixed name in logging.getLogger(name), and put what changes into the message or "
        "extra=: logging keeps each logger for ever",
        path=r"loggerDict\[(\*\]|[^.]*$)",  # but not a handler of one logger
        types=r"^logging\.(\w*Logger|PlaceHolder)$",
        source="logging.Manager.loggerDict",
        called="loggers, one a name (logging.getLogger)",
    ),
    Place(
        "exit callbacks of a stack",
        "close() the ExitStack when a round ends, or make one for each round (with ExitStack() as "
        "stack:): it keeps each object that was entered",
        path=r"\._exit_callbacks(\[|$)",
        source="contextlib.ExitStack",
    ),
    Place(
        "what one side of itertools.tee did not read",
        "read both iterators of itertools.tee in step, or make a list once: what one has read and "
        "the other has not is kept in between",
        path=r"of itertools\._?tee",
        source="itertools.tee, the note on auxiliary storage",
        called="items that one iterator of itertools.tee has read and the other has not",
    ),
    Place(
        "source lines of code made at run time",
        "compile code under a fixed file name, or call linecache.checkcache(): it keeps the text "
        "of each name",
        path=r"^linecache\.cache",
        source="linecache.checkcache",
    ),
    Place(
        "implementations of a generic function",
        "register classes once, and make none in the loop: a generic function keeps each class "
        "that was registered",
        path=r"closure cell (registry|dispatch_cache) of singledispatch|\.registry\[<type>\]",
        source="functools.singledispatch",
    ),
    Place(
        "open figures",
        "close each figure when it is saved: plt.close(figure); pyplot keeps every figure that it "
        "made in {path}",
        path=r"Gcf\.figs",
        source="matplotlib.pyplot.figure, rcParams['figure.max_open_warning']",
    ),
    Place(
        "module hooks",
        "keep the handle that register_*_hook returns and call handle.remove() when done, or "
        "register the hook once; {path} keeps every hook",
        path=r"_(forward|backward|full_backward|state_dict|load_state_dict|load)\w*hooks",
        source="torch.nn.Module.register_forward_hook returns a RemovableHandle",
    ),
    Place(
        "optimizer state of dead parameters",
        "make a new optimizer when parameters are replaced, or remove theirs from param_groups and "
        "state; {path} keeps the moments of parameters that no model has any more",
        path=r"\.(state|param_groups)\b",
        types=r"^torch\.optim\.",
        source="torch.optim.Optimizer.state and param_groups",
    ),
    Place(
        "cache of a method or function",
        "bound the cache (lru_cache(maxsize=...)) or cache on the instance (cached_property): a "
        "cache on a method keeps every `self` that it was called with; {path}",
        path=r"lru_cache of ",
        source="Python's programming FAQ, how to cache method calls",
    ),
    Place(
        "pools that are not closed",
        "close() and join() each pool when its work is done (with Pool(...) as pool: for an "
        "executor, shutdown()), or make one and use it in every round: its threads and processes "
        "live until then, and taking it out of {path} alone ends none of them",
        types=POOLS,
        source="multiprocessing.pool.Pool.close and join",
    ),
    Place(
        "backlog of an executor",
        "submit no faster than the work is done: wait for futures, or guard submit() with a "
        "semaphore; {path} is the queue of what was submitted and did not begin yet",
        kind="queue",
        types=r"^concurrent\.futures\.thread\._WorkItem$|^concurrent\.futures\.process\._",
        source="concurrent.futures: submit() queues without a bound",
    ),
    Place(
        "futures that are kept",
        "drop each future once its result is taken (as_completed, or a set with a discard "
        "callback); {path} keeps their results",
        types=r"^(concurrent\.futures\._base|asyncio)\.(Future|futures\.Future)$|^_asyncio\.Future$",
        source="concurrent.futures.as_completed",
    ),
    Place(
        "tasks that never end",
        "await, cancel or time out each task, and discard it from {path} when it is done "
        "(task.add_done_callback(tasks.discard))",
        kind="tasks",
        types=r"^_?asyncio(\.tasks)?\.Task$|^coroutine$",
        source="asyncio.create_task, the note on references to tasks",
    ),
    Place(
        "files and sockets that are not closed",
        "close() each one when its work is done, or open it in a `with` block; {path} keeps them "
        "open, and a process may have so many only (ulimit -n)",
        types=r"^(_io\.(TextIOWrapper|Buffered\w+|FileIO)|socket\.socket|ssl\.SSLSocket)$",
        source="io.IOBase.close, socket.socket.close",
    ),
    Place(
        "queue without a bound",
        "bound it (maxsize=...), so that the producer waits, or add consumers; {path} gets more "
        "than is taken out",
        kind="queue",
        types=r"^(queue|_queue|asyncio\.queues|multiprocessing\.queues)\.\w*Queue$",
        source="queue.Queue, maxsize of 0 or less",
    ),
    Place(
        "logging handlers",
        "add the handler once, or logger.removeHandler(handler) and handler.close() when done; "
        "{path} keeps each handler that was added",
        path=r"^logging\.|\.handlers\[",
        types=r"^logging\.|Handler$",
        source="logging.Logger.addHandler and removeHandler",
    ),
    Place(
        "stored exceptions",
        KEPT_EXCEPTION + " ({path})",
        types=r"^traceback$|^frame$|(Error|Exception)$",
        source="BaseException.__traceback__; traceback.clear_frames",
    ),
    Place(
        "the last exception",
        "clear sys.last_exc, sys.last_value and sys.last_traceback: they keep the frames of the "
        "last unhandled exception",
        path=r"^sys\.last_",
        source="sys.last_exc and sys.last_traceback",
    ),
    Place(
        "context variable",
        "reset it with the token of set() when the work is done; {path} is kept by the context "
        "that runs on",
        path=r"^context variable ",
        source="contextvars.ContextVar.reset",
    ),
    Place(
        "thread-local values",
        "clear them at the end of each piece of work: threads of a pool live on, as does {path}",
        types=r"^_thread\._local$|^threading\.local$",
        source="threading.local",
    ),
    Place(
        "finalizers",
        "give weakref.finalize a plain function and values that do not refer to the object: a "
        "bound method of the object itself (weakref.finalize(self, self.close)), or an argument "
        "that leads back to it, keeps it alive for ever; or call detach() when the work is done",
        path=r"finalize\._registry",
        source="weakref.finalize, the note on callbacks that own a reference to the object",
        called="callbacks of weakref.finalize with their arguments",
    ),
    Place(
        "warnings already shown",
        "use a constant text for the warning: {path} remembers every different one",
        path=r"__warningregistry__",
        source="warnings: __warningregistry__ of a module",
    ),
    Place(
        "scalar history of a writer",
        "write the history out and clear it, or keep a bounded part (deque(maxlen=...)); {path} "
        "keeps every value that was logged",
        path=r"(history|scalars|all_writers|_history|event_queue)\b",
        types=r"^(float|int|tuple|dict|str|bytes|numpy\.float\w*)$|[Ss]ummary|tensorboard|wandb",
        source="wandb/wandb#354",
    ),
    Place(
        "listeners",
        "unsubscribe when the subscriber is done, or hold subscribers weakly (weakref.WeakMethod); "
        "{path} keeps every one",
        path=r"(listener|callback|observer|subscriber|handler|watcher)s?\b[^.]*$",
        types=r"^(method|function|functools\.partial|builtin_function_or_method)$",
        source="weakref.WeakMethod",
    ),
    Place(
        "class registry",
        "remove instances when they are done, or register them weakly (weakref.WeakSet); {path} "
        "belongs to the class and outlives them",
        path=r"\.(_?registry|_?instances)\[",
        source="weakref.WeakSet",
    ),
    Place(
        "threads that never end",
        "close what began each thread (a writer, a client, a pool: its close() ends it), or end "
        "and join it, or hand the work to one pool (concurrent.futures); {path} is where threading "
        "keeps account of those that are alive",
        kind="threads",
        path=r"^threading\._(active|limbo|dangling|shutdown_locks)\[[^\]]*\]$",
        source="threading.enumerate",
        account=True,
    ),
    Place(
        "child processes that nobody ended",
        "end and join() each process, or close() and join() the pool that began it; {path} is "
        "where multiprocessing keeps account of those that it began",
        kind="children",
        path=r"^multiprocessing\.process\._(children|dangling)\[[^\]]*\]$",
        source="multiprocessing.active_children",
        account=True,
    ),
    Place(
        "imported modules",
        "import under fixed names: {path} keeps each module that was ever imported, and one made "
        "under a new name each time is never dropped",
        path=r"^sys\.modules\[",
        source="sys.modules",
    ),
    Place(
        "suspended generators",
        "close() each generator, or exhaust it; {path} keeps the locals of all of them",
        types=r"^(generator|async_generator)$",
        source="generator.close()",
    ),
)


def place_of(holder: Holder) -> Place | None:
    """Return the first place that matches a container; None if none does."""
    types = [holder.element, *(hop.type for hop in holder.trace[-NEARBY_TYPES:])]
    return next((place for place in PLACES if place.fits(holder.path, types)), None)


def with_bound(holder: Holder) -> Holder:
    """Return a container with the bound that its library keeps, if it states none itself.

    A bound that it has passed by far is not kept. A buffer may be a little over between two trims.
    """
    if holder.capacity is not None and MAJORITY * holder.entries > holder.capacity:
        return replace(holder, capacity=None)
    place = place_of(holder) if holder.capacity is None else None
    return holder if place is None or place.bound is None else replace(holder, capacity=place.bound)


def keeps_self(path: str, type_name: str) -> bool:
    """Return whether a path belongs to a cache on a method of a class, which keeps ``self``."""
    return f"lru_cache of {type_name.rpartition('.')[2]}." in path
