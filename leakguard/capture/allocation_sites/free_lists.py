"""What the interpreter has in reserve of lists, dicts and tuples, taken out before a trace.

CPython keeps some freed objects of these types and hands them out again without an allocation, so
that a tracer never hears of them: of 30 lists that a generation leaves behind each may be such a
one (``Objects/listobject.c``, ``dictobject.c``, ``tupleobject.c``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

# Tuples up to this length are kept in reserve, each length apart (PyTuple_MAXSAVESIZE).
_LONGEST_TUPLE = 20
# Objects in all, at most: CPython keeps 2,000 tuples of each length, and 80 lists and dicts each
# (PyTuple_MAXFREELIST, PyList_MAXFREELIST, PyDict_MAXFREELIST).
_MOST_SPARE = 50_000
# So many objects in a row that the tracer saw, and nothing older lies below them: to ask for a
# stack of 16 frames makes 16 pairs, which may be freed on top of the reserve.
_IN_A_ROW = 24


def reserve(names: Collection[str], is_known: Callable[[Any], bool]) -> list[Any]:
    """Return what there is in reserve of the builtin types of these names.

    As long as it is kept, new objects of the type are allocated. ``is_known`` tells of an object
    whether the tracer saw its allocation.
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
    return {}  # the call of the class allocates


def _new_tuple(length: int) -> tuple[Any, ...]:
    return tuple([None] * length)


_MAKERS: dict[str, tuple[Callable[[], Any], ...]] = {
    "list": (_new_list,),
    "dict": (_new_dict,),
    "tuple": tuple(partial(_new_tuple, length) for length in range(1, _LONGEST_TUPLE + 1)),
}
