"""Empties the interpreter's free lists of lists, dicts and tuples before a trace.

CPython keeps some freed objects of these types and reuses them without an allocation, which a
tracer therefore misses. All of the 30 lists that a generation leaves behind may be such objects
(``Objects/listobject.c``, ``dictobject.c``, ``tupleobject.c``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

# Tuples up to this length have free lists, one per length (PyTuple_MAXSAVESIZE).
_LONGEST_TUPLE = 20
# ``reserve`` makes at most this many objects to empty the free lists. Chosen, above the 40,160
# objects that the free lists can hold: 2,000 tuples of each of 20 lengths, 80 lists and 80 dicts
# (PyTuple_MAXFREELIST, PyList_MAXFREELIST, PyDict_MAXFREELIST).
_MOST_SPARE = 50_000
# An object from a free list usually has no traced allocation. So a free list counts as empty after
# this many consecutive objects with a traced allocation. Chosen, above 16: each call of
# ``is_known`` makes 16 traced tuples, one for each frame of a stack, and frees them. So the first
# 16 tuples from a free list may be traced ones.
_IN_A_ROW = 24


def reserve(names: Collection[str], is_known: Callable[[Any], bool]) -> list[Any]:
    """Return all objects from the free lists of the builtin types of these names.

    While the caller keeps them, every new object of these types is allocated, and thus traced.
    ``is_known`` returns whether the tracer saw an object's allocation.
    """
    spare: list[Any] = []
    for name in sorted(names):
        for make in _MAKERS.get(name, ()):
            known = 0
            while known < _IN_A_ROW and len(spare) < _MOST_SPARE:
                spare.append(make())
                known = known + 1 if is_known(spare[-1]) else 0
    return spare


def _new_list() -> list[Any]:
    return []


def _new_dict() -> dict[Any, Any]:
    return {}  # Calling the class allocates.


def _new_tuple(length: int) -> tuple[Any, ...]:
    return tuple([None] * length)


_MAKERS: dict[str, tuple[Callable[[], Any], ...]] = {
    "list": (_new_list,),
    "dict": (_new_dict,),
    "tuple": tuple(partial(_new_tuple, length) for length in range(1, _LONGEST_TUPLE + 1)),
}
