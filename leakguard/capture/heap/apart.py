"""Takes looks in a copy of this process, so that they cannot affect the program.

A look inside the process would affect the program in three ways. It holds references while Python
code runs, so objects that another thread drops meanwhile are freed late, and by the guard's thread.
It writes to pages that forked workers share. It makes a Python object for each node of a backward
graph of torch, and then torch frees the graph by recursion. In a copy, none of that reaches the
program, not even a crash, and a look that takes too long can be ended.

If no copy can be made and no other thread runs, the look is taken in the process itself, without
gradients and backward graphs. If other threads run, there is no look.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from leakguard.capture.headroom import dies_as_one, free_memory
from leakguard.capture.heap import plain_tensors
from leakguard.capture.heap.frames import other_threads_run
from leakguard.capture.heap.frameworks import graphs_asleep
from leakguard.capture.heap.process_copy import CopyFailed, CopyRefused, ProcessCopy, is_copy
from leakguard.capture.probe import Unavailable
from leakguard.capture.tracers import tracer_at_work

#: Environment variable. Usually a copy of the process takes the looks. If the variable is 0, the
#: process itself takes them, even if it has other threads.
VARIABLE = "LEAKGUARD_COPY"
#: Most seconds of CPU time that a look may take, if the caller sets no other limit. Chosen: enough
#: for 30 million objects.
LONGEST = 60.0
# After this many crashes of copies, no more looks are taken, because the process itself might crash
# too. Chosen.
_MOST_CRASHES = 2
# A copy hangs if it waits for a lock that another thread held when the copy was made. After this
# many consecutive hung copies, the look is given up. Chosen.
_MOST_HANGS = 3
# A copy may allocate ``_LEAST_MEMORY`` bytes, plus ``_A_BLOCK`` bytes for each block in use in
# Python's allocator. Chosen, well above the usual need: the limit is there to end a copy whose
# memory grows without bound.
_A_BLOCK, _LEAST_MEMORY = 300, 256_000_000
# A copy usually needs ``_USUAL_MEMORY`` bytes, plus ``_A_USUAL_BLOCK`` bytes for each block in use.
_A_USUAL_BLOCK, _USUAL_MEMORY = 120, 30_000_000

T = TypeVar("T")


@dataclass(slots=True)
class Apart:
    """Takes looks in copies of the process, and remembers their failures."""

    crashes: int = 0

    def take(self, work: Callable[[], T], kind: type[T], seconds: float = LONGEST) -> T:
        """Return the result of ``work``, a value of ``kind``.

        ``seconds`` is the most CPU time that ``work`` may take.

        Raises:
            Unavailable: no look was taken; the message states the reason.
        """
        if is_copy():  # This call is a part of a look that already runs in a copy.
            return work()
        if self.crashes >= _MOST_CRASHES:
            raise Unavailable("a look would end this process, as it has ended copies of it")
        hindrance = _hindrance()
        if hindrance is not None:
            return _taken_here(work, hindrance)
        plain_tensors.prepare()
        for attempt in range(_MOST_HANGS):
            try:
                # Imported here: a process without its own leakguard, to which leakguard attaches,
                # may lack the packages that packing needs.
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
    """Return why no look can be taken in a copy; None if it can."""
    if os.environ.get(VARIABLE) == "0":
        return f"{VARIABLE} is 0"
    if (tracer := tracer_at_work()) is not None:
        return f"{tracer} would record what a copy does"
    needed = _USUAL_MEMORY + _A_USUAL_BLOCK * sys.getallocatedblocks()
    if dies_as_one() and needed > free_memory():
        return "a copy could use up the memory that this process may still take"
    return None


def _taken_here(work: Callable[[], T], hindrance: str) -> T:
    """Take the look in this process if it has no other threads that the look would disturb."""
    if os.environ.get(VARIABLE) != "0" and other_threads_run():
        raise Unavailable(
            f"a look in this process would disturb its other threads, and a copy cannot take it: "
            f"{hindrance}; {VARIABLE}=0 takes it here nevertheless"
        )
    with graphs_asleep():
        return work()
