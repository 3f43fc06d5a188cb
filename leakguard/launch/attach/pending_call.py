"""A call that the target's interpreter makes itself: written into its queue, or taken out again.

It is made between two instructions of the program, by whichever thread comes first (before Python
3.12: by the main thread). What is written comes in an order in which it has no effect before the
last step, and each step is one number: whoever is killed in between leaves the process as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from leakguard.errors import UsageError
from leakguard.launch.attach.foreign_memory import ForeignMemory, mappings, unused_room
from leakguard.launch.attach.queue_layout import QueueLayout
from leakguard.launch.attach.stopped import interrupt_wait, stopped
from leakguard.live.beacon import process_began

# How often the queue is found in use before that is told, and how long to wait between.
_TRIES, _PAUSE = 50, 0.01
_INTERPRETER_MAY_LIE = 1 << 47


@dataclass(frozen=True, slots=True)
class Symbols:
    """Where the interpreter lies in a process: ``_PyRuntime``, and ``PyRun_SimpleString``."""

    runtime: int
    run: int


@dataclass(slots=True)
class PendingCall:
    """One call of ``PyRun_SimpleString`` with a text.

    Attributes:
        began: when the process did: its number may pass on to another.
        stood_still: the seconds for which the threads of the process were stopped.
    """

    pid: int
    began: float | None
    layout: QueueLayout
    symbols: Symbols
    stood_still: float = 0.0
    _text: int = 0
    _size: int = 0
    _slot: int = 0

    def make(self, text: str) -> None:
        """Have the process run a text of Python, soon.

        Raises:
            UsageError: there is no room for it, or its queue is not as expected.
        """
        data = text.encode() + b"\0"
        with ForeignMemory(self.pid) as memory:
            room = unused_room(memory, mappings(self.pid), len(data))
            if room is None:
                raise UsageError(f"process {self.pid} has no unused memory for {len(data)} bytes")
            memory.write(room, data)
            self._text, self._size = room, len(data)
            for _ in range(_TRIES):
                if self._at_rest(memory, self._put):
                    return
                time.sleep(_PAUSE)
        raise UsageError(f"the pending calls of process {self.pid} are in use all the time")

    def withdraw(self) -> bool:
        """Take the call out again; False where the interpreter has taken it already."""
        with ForeignMemory(self.pid) as memory:
            return self._at_rest(memory, self._take_out)

    def clear(self) -> None:
        """Make what the text lay in blank again, once it has run."""
        with ForeignMemory(self.pid) as memory:
            memory.write(self._text, bytes(self._size))

    def _at_rest(self, memory: ForeignMemory, step: Callable[[ForeignMemory], bool]) -> bool:
        began = time.perf_counter()
        try:
            with stopped(self.pid):
                if process_began(self.pid) != self.began:
                    raise UsageError(f"process {self.pid} has ended, and another has its number")
                return step(memory)
        finally:
            self.stood_still += time.perf_counter() - began

    def _put(self, memory: ForeignMemory) -> bool:
        """Write the call, unless the queue is in use just now."""
        interpreter, queue = self._queue(memory)
        first, last = self._ring(memory, queue)
        if (
            first != last
            or memory.int32(queue + self.layout.waiting)
            or self._locked(memory, queue)
        ):
            return False
        slot = queue + self.layout.calls + last * self.layout.stride
        memory.write(slot + 16, bytes(self.layout.stride - 16))
        memory.write_word(slot + 8, self._text)
        memory.write_word(slot, self.symbols.run)
        self._slot = last
        memory.write_int32(queue + self.layout.last, (last + 1) % self.layout.slots)
        memory.write_int32(queue + self.layout.waiting, 1)
        self._break(memory, interpreter)
        interrupt_wait(self.pid)  # the main thread
        return True

    def _take_out(self, memory: ForeignMemory) -> bool:
        _, queue = self._queue(memory)
        first, last = self._ring(memory, queue)
        ours = first == self._slot and last == (first + 1) % self.layout.slots
        slot = queue + self.layout.calls + self._slot * self.layout.stride
        if not ours or self._locked(memory, queue) or memory.word(slot + 8) != self._text:
            return False
        memory.write_int32(queue + self.layout.waiting, 0)
        memory.write_int32(queue + self.layout.last, first)
        memory.write(slot, bytes(16))
        return True

    def _queue(self, memory: ForeignMemory) -> tuple[int, int]:
        interpreter = memory.word(self.symbols.runtime + self.layout.main)
        if not 0 < interpreter < _INTERPRETER_MAY_LIE:
            raise UsageError(f"process {self.pid} has no interpreter that runs; try again later")
        return interpreter, interpreter + self.layout.queue

    def _ring(self, memory: ForeignMemory, queue: int) -> tuple[int, int]:
        first, last = (memory.int32(queue + at) for at in (self.layout.first, self.layout.last))
        if not (0 <= first < self.layout.slots and 0 <= last < self.layout.slots):
            raise UsageError(f"the pending calls of process {self.pid} are not where expected")
        return first, last

    def _locked(self, memory: ForeignMemory, queue: int) -> bool:
        """Return whether a thread was stopped while it was at the queue."""
        at = queue + self.layout.lock
        if self.layout.lock_is_byte:
            return memory.read(at, 1) != b"\0"
        lock = memory.word(at)
        return not lock or memory.int32(lock) != 1  # a semaphore that is free

    def _break(self, memory: ForeignMemory, interpreter: int) -> None:
        """Have the evaluation loop look at its queue."""
        layout = self.layout
        if layout.threads is None:
            memory.write_int32(interpreter + layout.breaker, layout.bit)
            return
        thread = memory.word(interpreter + layout.threads)
        while thread:
            at = thread + layout.breaker
            memory.write_word(at, memory.word(at) | layout.bit)
            thread = memory.word(thread + layout.next_thread)
