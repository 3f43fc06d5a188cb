"""Keeps the guard from using up the call stack, whose last frames belong to the program."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
# Frames of the call stack that starting a run needs at its deepest point, including the imports of
# the guard's modules. Chosen: twice the depth that was seen.
_ROOM = 200


def gives_way(work: Callable[P, T]) -> Callable[P, T | None]:
    """Return ``work`` as a function that does nothing if the stack has no room for it.

    Use this only for the outermost functions of the guard in which no code of the program runs: the
    program must see its own recursion errors.
    """

    @functools.wraps(work)
    def given(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return work(*args, **kwargs)
        except RecursionError:
            return None

    return given


def with_room(work: Callable[[], T]) -> T:
    """Run ``work``, which starts a run, with additional room on a stack that may be nearly full.

    Raises:
        RecursionError: there is no room even to restore the limit afterwards.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)  # if this is not possible afterwards, it fails here already
    try:
        sys.setrecursionlimit(limit + _ROOM)
        return work()
    finally:
        sys.setrecursionlimit(limit)
