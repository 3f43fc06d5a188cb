"""The connection to an attached process, the target.

Once a thread runs in the target, it is asked as any process is: by a ``Call`` over its socket.
"""

from __future__ import annotations

import contextlib
import re
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from leakguard.capture import births
from leakguard.capture.headroom import dies_as_one, free_memory
from leakguard.capture.outside import process_began
from leakguard.capture.probe import Unavailable, measure
from leakguard.capture.process import process_memory
from leakguard.errors import UsageError
from leakguard.launch.attach import bootstrap
from leakguard.launch.attach.foreign_memory import ForeignMemory, mappings
from leakguard.launch.attach.lodging import Lodging
from leakguard.launch.attach.pending_call import PendingCall
from leakguard.launch.attach.presence import present_at
from leakguard.launch.attach.queue_layout import REMOTE_EXEC, QueueLayout
from leakguard.launch.attach.rehearsal import Rehearsed, rehearse
from leakguard.launch.attach.running_process import RunningProcess
from leakguard.live import protocol
from leakguard.live.call import Call

T = TypeVar("T")

# The compiled part that an earlier attachment has loaded into the target, among its mappings, which
# mark a file that was deleted.
_LOADED = re.compile(r"/leakguard-attach-[^/]+/.*/_births\.[^/]*\.so$")
_GONE = " (deleted)"

_SCRIPT = "bootstrap.py"
# Python code that the target runs: ``_RUN`` executes ``_READ``, which executes the script. Neither
# binds a name in the target's ``__main__``. If the file of the script is gone, nothing happens.
_READ = "with __import__('_io').open({path!r}) as file: text = file.read()\nexec(text)"
_RUN = """try:
 __import__('builtins').exec({read!r},{{'__name__':{name!r}}})
except BaseException:
 pass
"""
_NAME = "leakguard.launch.attach.bootstrap"
# From this Python version on, a pending call is made by any thread of the target. In earlier
# versions, only the main thread makes pending calls.
_ANY_THREAD = (3, 12)
# Seconds between two attempts to call the thread in the target. Chosen.
_CONNECT_EVERY = 0.005
# ``_LONGEST_LOOK`` is the CPU time in seconds that one copy of the target may use. A copy hangs if
# it needs a lock that another thread of the target held when the copy was made. Then the question
# is asked in a new copy; after ``_MOST_HANGS`` hung copies the look is given up. Chosen.
_LONGEST_LOOK, _MOST_HANGS = 60.0, 3
# Bytes that a copy needs for the modules that it imports. Chosen. The copy may need as many bytes
# again as the target has anonymous memory, because the kernel duplicates a page when one of the two
# processes writes to it.
_OWN_MEMORY = 60_000_000
# Seconds for which ``close`` waits until the thread in the target has left, and hung up. Chosen.
_LEAVE = 5.0
# Seconds without an answer after which it is checked that the target still runs. A child of the
# target may keep the connection open when the target has ended. Chosen.
_CHECK_EVERY = 1.0
_ENDED = {
    "refused": "the system makes no copy of it: its memory or number of processes is limited",
    "hung": "each copy met a lock that another thread held",
    "late": "it took too long and was ended",
}


@dataclass(slots=True)
class Costs:
    """What attaching has cost the target, in seconds.

    Attributes:
        stood_still: time for which all threads of the target were stopped, to write the pending
            call into its memory.
        copying: time for which the target's global interpreter lock was held while the target was
            copied; one entry for each copy.
        looking: CPU time of all copies.
    """

    stood_still: float = 0.0
    copying: list[float] = field(default_factory=list)
    looking: float = 0.0


class Attachment:
    """The connection to one target, until ``close``."""

    def __init__(self, target: RunningProcess, patience: float) -> None:
        """Attach; wait ``patience`` seconds for the target to make the pending call.

        Raises:
            UsageError: the target cannot be attached to; nothing was left in the target.
        """
        self.target = target
        self.costs = Costs()
        rehearsed = rehearse(target)
        self.version = rehearsed.version
        self._lodging = Lodging(target)
        self._call: Call | None = None
        try:
            self._connect(rehearsed, patience)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Attachment:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the target: the thread in the target ends, and the folder is removed."""
        if self._call is not None:
            with contextlib.suppress(OSError), self._call:
                self._call.tell("leave")
                select.select([self._call], [], [], _LEAVE)  # readable when the thread hangs up
            self._call = None
        self._lodging.close()

    # -- attaching ------------------------------------------------------------------------------

    def _connect(self, rehearsed: Rehearsed, patience: float) -> None:
        lock = _lock(self.target.pid, rehearsed)
        begin = f"\nbegin({self._lodging.path!r}, {lock!r})\n"
        files = (protocol.__file__, bootstrap.__file__)
        text = "\n".join(Path(file).read_text("utf-8") for file in files)
        self._lodging.write(_SCRIPT, (text + begin).encode())
        path = f"{self._lodging.path}/{_SCRIPT}"
        call = None
        if rehearsed.layout is None:
            _remote_exec(self.target, rehearsed.version, path)
        else:
            call = PendingCall(
                self.target.pid, self.target.began, rehearsed.layout, rehearsed.symbols
            )
            call.make(_RUN.format(read=_READ.format(path=path), name=_NAME))
        try:
            self._call = self._called(patience)
        except TimeoutError:
            raise self._busy(call, patience) from None
        finally:
            if call is not None:
                self.costs.stood_still = call.stood_still
        if call is not None:
            call.clear()

    def _called(self, patience: float) -> Call:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                return Call(self._lodging.inside(bootstrap.SOCKET), self.target.pid, _CHECK_EVERY)
            except OSError:  # the thread does not listen yet
                self._check_alive()
                time.sleep(_CONNECT_EVERY)
        raise TimeoutError

    def _busy(self, call: PendingCall | None, patience: float) -> UsageError:
        """Remove the pending call from a target that did not make it; return the error to raise."""
        if call is not None and call.withdraw():
            call.clear()
        who = "its main thread" if self.version < _ANY_THREAD else "each of its threads"
        return UsageError(
            f"process {self.target.pid} did not answer within {patience:g} s: {who} is busy or "
            "waits in C code; nothing was done to it; --wait gives it more time"
        )

    def _check_alive(self) -> None:
        if process_began(self.target.pid) != self.target.began:
            raise UsageError(f"process {self.target.pid} has ended")

    # -- questions ------------------------------------------------------------------------------

    def ask(self, question: str, kind: type[T], *, untrace: bool = False, **details: object) -> T:
        """Return the answer of a new copy of the target; ``sight`` lists the questions.

        Args:
            question: the name of the question.
            kind: the type of the answer.
            untrace: end the trace of the target once the copy is made.
            details: the arguments of the question.

        Raises:
            Unavailable: there is no answer; the message states the reason.
            UsageError: the target has ended.
        """
        _check_memory(self.target.pid)
        about = {"about": question, "details": details}
        for _ in range(_MOST_HANGS):
            answer = self._answer("look", question=about, seconds=_LONGEST_LOOK, untrace=untrace)
            if "stood" in answer:
                self.costs.looking += answer["used"]
                self.costs.copying.append(answer["stood"])
            if answer.get("problem") != "hung":
                break
        return _decoded(answer, kind)

    def trace(self, frames: int) -> None:
        """Start ``tracemalloc`` in the target, unless the target itself has started it."""
        self._answer("trace", frames=frames)

    def untrace(self) -> None:
        """Stop ``tracemalloc`` in the target, if ``trace`` started it."""
        self._answer("untrace")

    def record_births(self) -> str | None:
        """Have the target record births until it is left; return why it does not, or None.

        A copy of the target does it first. If that copy crashes, nothing is done in the target.

        Raises:
            UsageError: the target has ended.
        """
        part = next(Path(births.__file__).parent.glob(f"_births.{_tag(self.version)}-*.so"), None)
        if part is None:
            name = ".".join(map(str, self.version))
            return f"leakguard here has no compiled part for Python {name}"
        before = self._loaded_before()
        about = {"interface": births.INTERFACE, "again": before is not None}
        path = before or f"{self._lodging.path}/{_of_package(part)}"
        loaded = self._answer("load births", path=path, **about)
        if "problem" in loaded:
            return str(loaded["problem"])
        try:
            problem = self.ask("births rehearsed", str)
        except Unavailable as reason:
            problem = str(reason)
        if problem:
            return problem
        return self._answer(
            "record births", interval=births.FIRST_INTERVAL, seed=time.time_ns()
        ).get("problem")

    def begin_round(self, number: int) -> tuple[str | None, str | None]:
        """Have the births from now on belong to round ``number``, counted from 0.

        Return why births are not recorded any more, and why those of C memory are not.
        """
        answer = self._answer("round", number=number)
        return answer.get("problem"), answer.get("native_problem")

    def _loaded_before(self) -> str | None:
        """Return the path of the part that an earlier attachment loaded, which is still mapped."""
        paths = (mapping.path.removesuffix(_GONE) for mapping in mappings(self.target.pid))
        return next((path for path in paths if _LOADED.search(path)), None)

    def _answer(self, word: str, **details: object) -> dict[str, Any]:
        if self._call is None:
            raise UsageError(f"process {self.target.pid} is not attached to any more")
        return self._call.ask(word, self._check_alive, **details)


@contextlib.contextmanager
def attached_to(pid: int, patience: float) -> Iterator[Attachment]:
    """Attach to a process while the block runs; one user cannot attach to a process twice.

    Raises:
        UsageError: the process cannot be attached to; nothing was left in the process.
    """
    with present_at(pid), Attachment(RunningProcess.of(pid), patience) as attachment:
        yield attachment


def _tag(version: tuple[int, int]) -> str:
    """Return how the names of parts that are compiled for a version of CPython begin."""
    return "cpython-" + "".join(map(str, version))


def _of_package(file: Path) -> str:
    """Return the path of a file of leakguard, from the folder that has the package."""
    return str(file.relative_to(Path(births.__file__).parents[3]))


def _decoded(answer: dict[str, Any], kind: type[T]) -> T:
    """Return the value in an answer, which is checked against ``kind``."""
    if "problem" in answer:
        problem = str(answer["problem"])
        if problem.startswith("failed:"):
            problem = f"a look crashed in a copy of the process ({problem})"
        raise Unavailable(_ENDED.get(problem, problem))
    try:
        return msgspec.convert(answer["told"], kind, dec_hook=_no_value)
    except (ValueError, KeyError, msgspec.ValidationError) as error:
        raise Unavailable(f"its answer cannot be read: {error}") from None


def _check_memory(pid: int) -> None:
    """Raise ``Unavailable`` if a copy could run out of memory and the kernel then kill the target.

    The kernel usually kills the copy itself; ``dies_as_one`` finds the settings that differ.
    """
    own = measure((("process", lambda: process_memory(pid)),)).metrics
    needed = _OWN_MEMORY + own.get("rss_anonymous", 0)
    if dies_as_one(pid) and needed > free_memory(pid):
        raise Unavailable("a copy could use up the memory that the process may still take")


def _no_value(kind: type, value: Any) -> Any:
    """Raise for a type that no answer contains.

    Such a type is ``Column``, of a look's ``PathMemory``: the memory stays in the target's folder.
    """
    raise ValueError(f"an answer has no {kind.__name__}")


def _lock(pid: int, rehearsed: Rehearsed) -> tuple[int, int, int]:
    """Return where the global interpreter lock is in the target; see ``bootstrap.begin``."""
    layout = rehearsed.layout
    if layout is None:
        return 0, 0, 0
    with ForeignMemory(pid) as memory:
        return _lock_at(memory, layout, rehearsed.symbols.runtime)


def _lock_at(memory: ForeignMemory, layout: QueueLayout, runtime: int) -> tuple[int, int, int]:
    interpreter = memory.word(runtime + layout.main)
    gil = memory.word(interpreter + layout.gil) if layout.gil_is_pointer else runtime + layout.gil
    if layout.drop is None:
        return gil, 0, layout.breaker
    return gil, interpreter + layout.drop, 0


def _remote_exec(target: RunningProcess, version: tuple[int, int], path: str) -> None:
    """Have a target of Python 3.14 or later run a file, by ``sys.remote_exec``."""
    if version != sys.version_info[:2]:
        name = ".".join(map(str, version))
        raise UsageError(
            f"process {target.pid} runs Python {name}, which only Python {name} attaches to; run "
            "leakguard attach with it"
        )
    assert version >= REMOTE_EXEC
    try:
        sys.remote_exec(target.pid, path)  # type: ignore[attr-defined]
    except (OSError, RuntimeError, PermissionError) as error:
        raise UsageError(f"process {target.pid} cannot be attached to: {error}") from None
