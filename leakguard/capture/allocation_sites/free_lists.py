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
# Objects of one kind, at most: CPython keeps 2,000 tuples of a length, and 80 lists or dicts
# (PyTuple_MAXFREELIST, PyList_MAXFREELIST, PyDict_MAXFREELIST).
_MOST_OF_A_KIND = 2_000


def reserve(names: Collection[str], is_known: Callable[[Any], bool]) -> list[Any]:
    """Return what there is in reserve of the builtin types of these names.

    As long as it is kept, new objects of the type are allocated. ``is_known`` tells of an object
    whether the tracer saw its allocation; the first one that it saw was none of the reserve.
    """
    spare: list[Any] = []
    for name in sorted(names):
        for make in _MAKERS.get(name, ()):
            for _ in range(_MOST_OF_A_KIND):
                item = make()
                if is_known(item):
                    break
                spare.append(item)
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
