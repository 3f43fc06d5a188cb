"""A pending call of the target: written into the queue of its interpreter, or removed again.

The interpreter makes a pending call between two instructions of the program, in whichever thread
comes first; before Python 3.12, in the main thread. The call is written in several steps, in an
order in which it has no effect before the last steps. Each of these steps writes one number, which
arrives whole. So if this process is killed between two steps, the target runs on as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from leakguard.capture.outside import process_began
from leakguard.errors import UsageError
from leakguard.launch.attach.foreign_memory import ForeignMemory, mappings, unused_room
from leakguard.launch.attach.queue_layout import QueueLayout
from leakguard.launch.attach.stopped import interrupt_wait, stopped

# The queue of pending calls is not written to while the target uses it. So there are ``_TRIES``
# attempts, with ``_PAUSE`` seconds between two of them. Chosen: half a second in all.
_TRIES, _PAUSE = 50, 0.01
# The state of the target's interpreter must lie at an address below this number. If a higher number
# is read as its address, the memory is not as expected.
_INTERPRETER_MAY_LIE = 1 << 47


@dataclass(frozen=True, slots=True)
class Symbols:
    """The addresses of ``_PyRuntime`` and of ``PyRun_SimpleString`` in a process."""

    runtime: int
    run: int


@dataclass(slots=True)
class PendingCall:
    """One call of ``PyRun_SimpleString`` with a text of Python.

    Attributes:
        began: the start time of the process. It tells the process from a later one with the same
            process id.
        stood_still: the seconds for which all threads of the process were stopped.
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
        """Write the call into the queue, so that the process runs the text as soon as it can.

        Raises:
            UsageError: the process has no unused memory for the text, or its queue is always in use
                or not where it was expected.
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
        """Remove the call from the queue; return False if the interpreter may have begun it."""
        with ForeignMemory(self.pid) as memory:
            return self._at_rest(memory, self._take_out)

    def clear(self) -> None:
        """Fill the memory of the text with zeros again, after the call was made or withdrawn."""
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
        """Write the call into the queue; return False, without a change, if the queue is in use."""
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
        interrupt_wait(self.pid)  # the main thread has the number of the process
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
        """Return whether a stopped thread holds the lock of the queue."""
        at = queue + self.layout.lock
        if self.layout.lock_is_byte:
            return memory.read(at, 1) != b"\0"
        lock = memory.word(at)
        return not lock or memory.int32(lock) != 1  # a free semaphore has the value 1

    def _break(self, memory: ForeignMemory, interpreter: int) -> None:
        """Set the eval breaker, so that the evaluation loop checks its queue."""
        layout = self.layout
        if layout.threads is None:
            memory.write_int32(interpreter + layout.breaker, layout.bit)
            return
        thread = memory.word(interpreter + layout.threads)
        while thread:
            at = thread + layout.breaker
            memory.write_word(at, memory.word(at) | layout.bit)
            thread = memory.word(thread + layout.next_thread)
