"""Where CPython keeps its queue of pending calls and the global interpreter lock, by version.

Source: ``offsetof`` on the headers of 3.10.13, 3.11.7, 3.12.1 and 3.13.0 (``pycore_interp.h``,
``pycore_ceval_state.h``, ``pycore_runtime.h``), for 64-bit Linux. A build of CPython may differ
from these headers. So nothing is written into a process before a rehearsal with the same executable
has succeeded.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """The layout of one version of CPython; an offset is a number of bytes.

    Attributes:
        main: offset in ``_PyRuntime`` of the pointer to the main interpreter's state.
        queue: offset of the queue in an interpreter's state.
        lock: offset in the queue of the queue's lock: a pointer to a semaphore, or a byte (3.13).
        calls: offset in the queue of its first slot. A slot holds one call.
        stride: bytes of one slot.
        slots: number of slots. They are used as a ring.
        first: offset in the queue of the number of the slot with the next call.
        last: offset in the queue of the number of the next free slot.
        waiting: offset in the queue of the number of waiting calls, or of a flag that there are
            some.
        breaker: offset of the eval breaker, which makes the evaluation loop check the queue. It is
            in an interpreter's state, or in a thread's state if ``threads`` is set.
        gil: offset of the global interpreter lock in ``_PyRuntime``, or offset in an interpreter's
            state of the pointer to the lock.
        gil_is_pointer: True if ``gil`` is the offset of the pointer.
        drop: offset in an interpreter's state of the request to release the lock; None if the
            request is a bit of the thread's eval breaker.
        bit: the value that is set in the eval breaker.
        threads: offset in an interpreter's state of the pointer to the first thread's state; None
            if one eval breaker serves all threads.
        next_thread: offset in a thread's state of the pointer to the next thread's state.
        lock_is_byte: True if the queue's lock is a byte.
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


#: Offsets in bytes from the start of the global interpreter lock: of the condition variable on
#: which threads wait for the lock, and of the condition variable's mutex.
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
#: From this Python version on, ``sys.remote_exec`` has the target run a file; no layout is needed.
REMOTE_EXEC = (3, 14)
