"""Places where programs keep what they meant to give up, each with the kind of leak and its fix.

What is known of a container is its path from a root, the type of its entries and the types on the
way to them; the first place that fits tells what to change, in the words of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from leakguard.model import Holder
from leakguard.model.finding import Kind


@dataclass(frozen=True, slots=True)
class Place:
    """One pattern.

    Attributes:
        name: what such a place is called.
        fix: what to change; ``{path}`` stands for the container.
        kind: kind of finding that fits better than the type's own; None for the type's own.
        path: what is found in the path.
        types: what is found in the names of the entries' type and of the last types on the way.
        native: True where the entries own memory that no census sees.
    """

    name: str
    fix: str
    kind: Kind | None = None
    path: str | None = None
    types: str | None = None
    native: bool = False

    def fits(self, path: str, types: Iterable[str]) -> bool:
        """Return True for a container at ``path`` with these types in and around it."""
        if self.path is not None and re.search(self.path, path) is None:
            return False
        return self.types is None or any(re.search(self.types, name) for name in types)


PLACES: tuple[Place, ...] = (
    Place(
        "open figures",
        "close each figure when it is saved: plt.close(figure); pyplot keeps every figure that it "
        "made in {path}",
        path=r"Gcf\.figs",
        native=True,
    ),
    Place(
        "module hooks",
        "keep the handle that register_*_hook returns and call handle.remove() when done, or "
        "register the hook once; {path} keeps every hook",
        path=r"_(forward|backward|full_backward|state_dict|load_state_dict|load)\w*hooks",
    ),
    Place(
        "optimizer state of dead parameters",
        "make a new optimizer when parameters are replaced, or remove theirs from param_groups and "
        "state; {path} keeps the moments of parameters that no model has any more",
        path=r"\.(state|param_groups)\b",
        types=r"^torch\.optim\.",
    ),
    Place(
        "cache of a method or function",
        "bound the cache (lru_cache(maxsize=...)) or cache on the instance (cached_property): a "
        "cache on a method keeps every `self` that it was called with; {path}",
        path=r"lru_cache of ",
    ),
    Place(
        "backlog of an executor",
        "submit no faster than the work is done: wait for futures, or guard submit() with a "
        "semaphore; {path} is the queue of what was submitted and did not begin yet",
        kind="queue",
        types=r"^concurrent\.futures\.thread\._WorkItem$|^concurrent\.futures\.process\._",
    ),
    Place(
        "futures that are kept",
        "drop each future once its result is taken (as_completed, or a set with a discard "
        "callback); {path} keeps their results",
        types=r"^(concurrent\.futures\._base|asyncio)\.(Future|futures\.Future)$|^_asyncio\.Future$",
    ),
    Place(
        "tasks that never end",
        "await, cancel or time out each task, and discard it from {path} when it is done "
        "(task.add_done_callback(tasks.discard))",
        kind="tasks",
        types=r"^_?asyncio(\.tasks)?\.Task$|^coroutine$",
    ),
    Place(
        "queue without a bound",
        "bound it (maxsize=...), so that the producer waits, or add consumers; {path} gets more "
        "than is taken out",
        kind="queue",
        types=r"^(queue|_queue|asyncio\.queues|multiprocessing\.queues)\.\w*Queue$",
    ),
    Place(
        "logging handlers",
        "add the handler once, or logger.removeHandler(handler) and handler.close() when done; "
        "{path} keeps each handler that was added",
        path=r"^logging\.|\.handlers\[",
        types=r"^logging\.|Handler$",
    ),
    Place(
        "stored exceptions",
        "keep str(error) or the formatted traceback instead of the exception, or clear "
        "error.__traceback__: an exception keeps the locals of every frame that it passed; {path}",
        types=r"^traceback$|^frame$|(Error|Exception)$",
    ),
    Place(
        "the last exception",
        "clear sys.last_exc, sys.last_value and sys.last_traceback: they keep the frames of the "
        "last unhandled exception",
        path=r"^sys\.last_",
    ),
    Place(
        "context variable",
        "reset it with the token of set() when the work is done; {path} is kept by the context "
        "that runs on",
        path=r"^context variable ",
    ),
    Place(
        "thread-local values",
        "clear them at the end of each piece of work: threads of a pool live on, as does {path}",
        types=r"^_thread\._local$|^threading\.local$",
    ),
    Place(
        "finalizers",
        "detach() the finalizer when the work is done, or tie it to an object that dies; {path} "
        "keeps its arguments as long as its object lives",
        path=r"finalize\._registry",
    ),
    Place(
        "warnings already shown",
        "use a constant text for the warning: {path} remembers every different one",
        path=r"__warningregistry__",
    ),
    Place(
        "scalar history of a writer",
        "write the history out and clear it, or keep a bounded part (deque(maxlen=...)); {path} "
        "keeps every value that was logged",
        path=r"(history|scalars|all_writers|_history|event_queue)\b",
        types=r"^(float|int|tuple|dict|str|bytes|numpy\.float\w*)$|[Ss]ummary|tensorboard|wandb",
    ),
    Place(
        "listeners",
        "unsubscribe when the subscriber is done, or hold subscribers weakly (weakref.WeakMethod); "
        "{path} keeps every one",
        path=r"(listener|callback|observer|subscriber|handler|watcher)s?\b[^.]*$",
        types=r"^(method|function|functools\.partial|builtin_function_or_method)$",
    ),
    Place(
        "class registry",
        "remove instances when they are done, or register them weakly (weakref.WeakSet); {path} "
        "belongs to the class and outlives them",
        path=r"\.(_?registry|_?instances)\[",
    ),
    Place(
        "suspended generators",
        "close() each generator, or exhaust it; {path} keeps the locals of all of them",
        types=r"^(generator|async_generator)$",
    ),
)


_NEAR = 4  # types on the way to a container: what is further away says nothing about it


def place_of(holder: Holder) -> Place | None:
    """Return the first place that a container fits; None where none does."""
    types = [holder.element, *(hop.type for hop in holder.trace[-_NEAR:])]
    return next((place for place in PLACES if place.fits(holder.path, types)), None)


def owns_native_memory(path: str) -> bool:
    """Tell whether what lies at a path owns memory that no census sees, such as pixels."""
    return any(place.native and place.path and re.search(place.path, path) for place in PLACES)
