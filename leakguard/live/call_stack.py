"""The program's call stack: what little of it is left is the program's, and not the guard's."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
# Calls that a run needs to begin, modules that it imports included: twice what was seen. Chosen.
_ROOM = 200


def gives_way(work: Callable[P, T]) -> Callable[P, T | None]:
    """Have what the guard does come to nothing where the stack has no room for it.

    It is for the outermost of the guard's own functions, in which no code of the program runs: that
    has to hear of its own recursion.
    """

    @functools.wraps(work)
    def given(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return work(*args, **kwargs)
        except RecursionError:
            return None

    return given


def with_room(work: Callable[[], T]) -> T:
    """Do ``work``, which begins a run, however deep down the program calls for it.

    Raises:
        RecursionError: not even the limit could be put back here.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)  # fails where it would fail afterwards
    try:
        sys.setrecursionlimit(limit + _ROOM)
        return work()
    finally:
        sys.setrecursionlimit(limit)
