"""SIGKILL at chosen moments of some work, in a forked child, whose files are then looked at."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

_NEVER = sys.maxsize


def killed_at(moment: int, play: Callable[[], object], within: str = "") -> bool:
    """Play in a child and kill it at one moment, counted from 1; return whether it lasted so long.

    A moment is where a Python function begins, or a call of a C function begins or has ended, in a
    file whose path matches the expression ``within``: so a file may have been made and not yet
    written, or written and not yet renamed. All threads that the work starts are counted together.

    Raises:
        RuntimeError: the work failed before it was killed.
    """
    child = os.fork()
    if not child:
        _play_and_exit(moment, play, within, None)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status:
        raise RuntimeError(f"the work ended with status {status}")
    return False


def moments(play: Callable[[], object], within: str = "") -> int:
    """Play in a child to the end, and return how many moments that took."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        _play_and_exit(_NEVER, play, within, write)
    os.close(write)
    with open(read, "rb") as answer:
        count = answer.read()
    os.waitpid(child, 0)
    return int(count)


def some_of(count: int, number: int, seed: int = 0) -> list[int]:
    """Return so many random moments of ``count``, in order, and the last."""
    return [*sorted(random.Random(seed).sample(range(1, count), min(number, count - 1))), count]


def _play_and_exit(
    moment: int, play: Callable[[], object], within: str, answer: int | None
) -> None:
    left, seen = moment, re.compile(within).search

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        left -= (
            event in ("call", "c_call", "c_return") and seen(frame.f_code.co_filename) is not None
        )
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    status = 1
    try:
        threading.setprofile(count)
        sys.setprofile(count)
        play()
        sys.setprofile(None)
        if answer is not None:
            os.write(answer, b"%d" % (moment - left))
        status = 0
    finally:
        os._exit(status)
