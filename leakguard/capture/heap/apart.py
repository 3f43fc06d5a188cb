"""Takes looks in a copy of this process, so that they cannot affect the program.

A look inside the process holds references while Python code runs. Objects that another thread drops
meanwhile are freed late, and by the guard. Pages that forked workers share are written to. A
backward graph of torch is woken node by node, so that its release becomes recursive. In a copy none
of that reaches the program, not even a crash, and a look that takes too long can be ended.

If no copy can be made, the look is taken here, provided that no other thread runs. Gradients and
backward graphs are then left out. Otherwise there is no look.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from leakguard.capture.headroom import dies_as_one, free_memory
from leakguard.capture.heap.collector import other_threads_run
from leakguard.capture.heap.frameworks import graphs_asleep
from leakguard.capture.heap.process_copy import CopyFailed, CopyRefused, ProcessCopy, is_copy
from leakguard.capture.probe import Unavailable
from leakguard.capture.tracers import tracer_at_work

#: If it is 0, no look is taken in a copy, and none is refused because of other threads.
VARIABLE = "LEAKGUARD_COPY"
#: Seconds of CPU of a look without a limit: 30 million objects.
LONGEST = 60.0
# After so many looks have crashed in their copies there are no more: the process may crash too.
_MOST_CRASHES = 2
# Consecutive copies that each waited for a lock of another thread.
_MOST_HANGS = 3
# Memory of a walk: bytes per block of Python's allocator, and the minimum. A copy may use more
# while memory is free; the limit ends a copy that grows without bound.
_A_BLOCK, _LEAST_MEMORY = 300, 256_000_000
_A_USUAL_BLOCK, _USUAL_MEMORY = 120, 30_000_000

T = TypeVar("T")


@dataclass(slots=True)
class Apart:
    """Takes looks in copies of the process, and remembers their failures."""

    crashes: int = 0

    def take(self, work: Callable[[], T], kind: type[T], seconds: float = LONGEST) -> T:
        """Return the result of ``work``, a value of ``kind``; it may take so many seconds of CPU.

        Raises:
            Unavailable: there is no look, and the message says why.
        """
        if is_copy():  # A part of a look.
            return work()
        if self.crashes >= _MOST_CRASHES:
            raise Unavailable("a look would end this process, as it has ended copies of it")
        hindrance = _hindrance()
        if hindrance is not None:
            return _taken_here(work, hindrance)
        for attempt in range(_MOST_HANGS):
            try:
                # Late: a copy of a process that knows nothing of leakguard has no packer for it.
                from leakguard.capture.heap.answer import packed, unpacked

                return unpacked(_answer_of_copy(lambda: packed(work()), seconds), kind)
            except CopyRefused as refusal:
                return _taken_here(work, str(refusal))
            except CopyFailed as failure:
                self.crashes += failure.crashed
                if not failure.hung or attempt == _MOST_HANGS - 1:
                    reason = f"a look in a copy of the process failed: {failure}"
                    raise Unavailable(reason) from None
        raise AssertionError("unreachable")


#: Takes the looks of this process.
looks = Apart()


def _answer_of_copy(work: Callable[[], bytes], seconds: float) -> bytes:
    memory = _LEAST_MEMORY + _A_BLOCK * sys.getallocatedblocks()
    return ProcessCopy.begin(work, seconds=seconds, memory=memory).answer()


def _hindrance() -> str | None:
    """Return why no look is taken in a copy here; None if it is."""
    if os.environ.get(VARIABLE) == "0":
        return f"{VARIABLE} is 0"
    if (tracer := tracer_at_work()) is not None:
        return f"{tracer} would record what a copy does"
    needed = _USUAL_MEMORY + _A_USUAL_BLOCK * sys.getallocatedblocks()
    if dies_as_one() and needed > free_memory():
        return "a copy could use up the memory that this process may still take"
    return None


def _taken_here(work: Callable[[], T], hindrance: str) -> T:
    """Take the look in this process, if it cannot disturb another thread."""
    if os.environ.get(VARIABLE) != "0" and other_threads_run():
        raise Unavailable(
            f"a look in this process would disturb its other threads, and a copy cannot take it: "
            f"{hindrance}; {VARIABLE}=0 takes it here nevertheless"
        )
    with graphs_asleep():
        return work()
