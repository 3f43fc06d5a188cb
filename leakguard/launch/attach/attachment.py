"""A process that is attached to: questions are asked by two pipes, and answered by copies of it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from leakguard.capture.headroom import dies_as_one, free_memory
from leakguard.capture.probe import Unavailable, measure
from leakguard.capture.process import process_memory
from leakguard.errors import UsageError
from leakguard.launch.attach import bootstrap, sight
from leakguard.launch.attach.foreign_memory import ForeignMemory
from leakguard.launch.attach.lodging import Lodging
from leakguard.launch.attach.pending_call import PendingCall
from leakguard.launch.attach.presence import present_at
from leakguard.launch.attach.queue_layout import REMOTE_EXEC, QueueLayout
from leakguard.launch.attach.rehearsal import Rehearsed, rehearse
from leakguard.launch.attach.running_process import RunningProcess
from leakguard.live.beacon import process_began

T = TypeVar("T")

_SCRIPT = "bootstrap.py"
# What the target is given to run: it leaves no name behind, and is silent where the file is gone.
_READ = "with __import__('_io').open({path!r}) as file: text = file.read()\nexec(text)"
_RUN = """try:
 __import__('builtins').exec({read!r},{{'__name__':{name!r}}})
except BaseException:
 pass
"""
_NAME = "leakguard.launch.attach.bootstrap"
# From this version on any thread makes the call, before it the main thread.
_ANY_THREAD = (3, 12)
_CONNECT_EVERY = 0.005
# CPU seconds of a look, and how often one is taken anew that met a lock of another thread.
_LONGEST_LOOK, _MOST_HANGS = 60.0, 3
# Bytes that a copy needs for what it imports, beside the pages that it may have to copy.
_OWN_MEMORY = 60_000_000
# Seconds for which the thread's leave is waited for.
_LEAVE = 5.0
_ENDED = {
    "refused": "the system makes no copy of it: its memory or number of processes is limited",
    "hung": "each copy met a lock that another thread held",
    "late": "it took too long and was ended",
}


@dataclass(slots=True)
class Costs:
    """What attaching has cost the target, in seconds.

    Attributes:
        stood_still: for which all of its threads were stopped, to put the call in.
        copying: for which Python's lock was held, to copy the process; one entry a look.
        looking: CPU time of the copies.
    """

    stood_still: float = 0.0
    copying: list[float] = field(default_factory=list)
    looking: float = 0.0


class Attachment:
    """The connection to one target, until its thread leaves."""

    def __init__(self, target: RunningProcess, patience: float) -> None:
        """Attach; the target has ``patience`` seconds to come to a point where it may be called.

        Raises:
            UsageError: that cannot be, and nothing of it is left in the target.
        """
        self.target = target
        self.costs = Costs()
        rehearsed = rehearse(target)
        self.version = rehearsed.version
        self._lodging = Lodging(target)
        self._ask = self._answer = -1
        self._rest = b""
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
        """Leave the target: its thread ends, and nothing of the folder is left."""
        if self._ask >= 0:
            with contextlib.suppress(OSError):
                os.write(self._ask, b"leave")
                select.select([self._answer], [], [], _LEAVE)  # its end is closed by the thread
            os.close(self._ask)
        if self._answer >= 0:
            os.close(self._answer)
        self._ask = self._answer = -1
        self._lodging.close()

    # -- attaching ------------------------------------------------------------------------------

    def _connect(self, rehearsed: Rehearsed, patience: float) -> None:
        lock = _lock(self.target.pid, rehearsed)
        begin = f"\nbegin({self._lodging.path!r}, {lock!r})\n"
        source = Path(bootstrap.__file__).read_text("utf-8")
        self._lodging.write(_SCRIPT, (source + begin).encode())
        self._answer = self._lodging.open_pipe("answer", os.O_RDONLY)
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
            self._ask = self._pipe_to_thread(patience)
        except TimeoutError:
            raise self._busy(call, patience) from None
        finally:
            if call is not None:
                self.costs.stood_still = call.stood_still
        if call is not None:
            call.clear()

    def _pipe_to_thread(self, patience: float) -> int:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                return self._lodging.open_pipe("ask", os.O_WRONLY)
            except OSError:  # the thread has not opened it yet
                self._check_alive()
                time.sleep(_CONNECT_EVERY)
        raise TimeoutError

    def _busy(self, call: PendingCall | None, patience: float) -> UsageError:
        """Take the call out of a target that did not come to it, and say so."""
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

    def ask(self, question: str, kind: type[T], **details: object) -> T:
        """Have a copy of the target answer; ``sight`` has the questions.

        Raises:
            Unavailable: there is no answer, and the message says why.
            UsageError: the target has ended.
        """
        _check_memory(self.target.pid)
        text = json.dumps({"ask": question, **details}).encode()
        for _ in range(_MOST_HANGS):
            self._lodging.write(sight.QUESTION, text)
            how, used, stood = self._ordered(f"look {_LONGEST_LOOK}").split()
            self.costs.looking += float(used)
            self.costs.copying.append(float(stood))
            if how != "hung":
                break
        if how != "done":
            raise Unavailable(_ENDED.get(how, f"a look crashed in a copy of the process ({how})"))
        return _decoded(self._lodging.read(sight.ANSWER), kind)

    def trace(self, frames: int) -> None:
        """Have the target note where memory is allocated, unless it does so by itself."""
        self._ordered(f"trace {frames}")

    def untrace(self) -> None:
        """End that."""
        self._ordered("untrace")

    def _ordered(self, order: str) -> str:
        """Have the thread do something, and return what it says."""
        try:
            os.write(self._ask, order.encode())
            while b"\n" not in self._rest:
                ready, _, _ = select.select([self._answer], [], [], 1.0)
                if ready and not (said := os.read(self._answer, 4096)):
                    raise BrokenPipeError
                if ready:
                    self._rest += said
                else:
                    self._check_alive()
        except BrokenPipeError:
            raise UsageError(f"process {self.target.pid} has ended") from None
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()


@contextlib.contextmanager
def attached_to(pid: int, patience: float) -> Iterator[Attachment]:
    """Attach to a process while the block runs, as the only one of this user.

    Raises:
        UsageError: that cannot be, and nothing of it is left in the process.
    """
    with present_at(pid), Attachment(RunningProcess.of(pid), patience) as attachment:
        yield attachment


def _decoded(text: bytes, kind: type[T]) -> T:
    """Return an answer as the value that it was; who wrote it may have been anybody."""
    try:
        told: dict[str, Any] = json.loads(text)
        if "problem" in told:
            raise Unavailable(str(told["problem"]))
        return msgspec.convert(told["told"], kind, dec_hook=_no_value)
    except (ValueError, KeyError, msgspec.ValidationError) as error:
        raise Unavailable(f"its answer cannot be read: {error}") from None


def _check_memory(pid: int) -> None:
    """Raise ``Unavailable`` where a copy could take the memory that its process dies without."""
    own = measure((("process", lambda: process_memory(pid)),)).metrics
    needed = _OWN_MEMORY + own.get("rss_anonymous", 0)
    if dies_as_one(pid) and needed > free_memory(pid):
        raise Unavailable("a copy could use up the memory that the process may still take")


def _no_value(kind: type, value: Any) -> Any:
    """Refuse what no answer has: the columns of a look's memory stay with the target."""
    raise ValueError(f"an answer has no {kind.__name__}")


def _lock(pid: int, rehearsed: Rehearsed) -> tuple[int, int, int]:
    """Return where Python's lock is in the target, as ``bootstrap.begin`` takes it."""
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
    """Have Python 3.14 and later run a file by their own means."""
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
