"""Where CPython keeps its queue of pending calls and its lock, version by version.

Source: ``offsetof`` on the headers of 3.10.13, 3.11.7, 3.12.1 and 3.13.0 (``pycore_interp.h``,
``pycore_ceval_state.h``, ``pycore_runtime.h``), for 64-bit Linux. A build may differ all the same,
so no process is written to before a rehearsal has succeeded with its very executable.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """Distances in bytes; those of the queue count from its start.

    Attributes:
        main: of the pointer to the main interpreter in ``_PyRuntime``.
        queue: of the queue in an interpreter.
        lock: of what guards the queue: a pointer to a semaphore, or (3.13) a byte.
        calls, stride, slots: where its calls are, how far apart, and how many there is room for.
        first, last: of the indices of the ring.
        waiting: of the number of calls that wait, or of the flag that there are some.
        breaker: of what makes the evaluation loop look: in an interpreter, or in each thread.
        threads, next_thread: of the first thread in an interpreter, and of the next in a thread;
            None where the interpreter has one breaker for all.
        bit: what is set in the breaker.
        gil: of Python's lock: in ``_PyRuntime``, or of the pointer to it in an interpreter.
        gil_is_pointer: which of the two.
        drop: of the request to let go of the lock, in an interpreter; None where it is a bit of
            the thread's breaker.
    """

    main: int
    queue: int
    lock: int
    calls: int
    stride: int
    slots: int
    first: int
    last: int
    waiting: int
    breaker: int
    gil: int
    gil_is_pointer: bool
    drop: int | None
    bit: int = 1
    threads: int | None = None
    next_thread: int = 0
    lock_is_byte: bool = False


#: Of the parts of Python's lock, from its start: its condition, and the mutex of that.
GIL_CONDITION, GIL_MUTEX = 32, 80

LAYOUTS: dict[tuple[int, int], QueueLayout] = {
    (3, 10): QueueLayout(
        main=40, queue=80, lock=0, calls=16, stride=16, slots=32, first=528, last=532, waiting=8,
        breaker=68, drop=72, gil=352, gil_is_pointer=False,
    ),
    (3, 11): QueueLayout(
        main=48, queue=112, lock=0, calls=16, stride=16, slots=32, first=528, last=532, waiting=8,
        breaker=100, drop=104, gil=360, gil_is_pointer=False,
    ),
    (3, 12): QueueLayout(
        main=48, queue=400, lock=8, calls=24, stride=16, slots=32, first=536, last=540, waiting=16,
        breaker=368, drop=372, gil=384, gil_is_pointer=True,
    ),
    (3, 13): QueueLayout(
        main=640, queue=32, lock=8, lock_is_byte=True, calls=24, stride=24, slots=300, first=7224,
        last=7228, waiting=12, breaker=24, bit=4, threads=7344, next_thread=8, drop=None, gil=16,
        gil_is_pointer=True,
    ),
}  # fmt: skip
#: From this version on ``sys.remote_exec`` does the same.
REMOTE_EXEC = (3, 14)
