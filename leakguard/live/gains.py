"""What a look counted more than an earlier one, and whether that is worth asking who holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leakguard.model import TypeCount

#: A class has gained something if it has this many instances more. Chosen: any loop may keep one
#: object more, such as its loop variable.
GAINED_INSTANCES = 2
# Without such a class, something was gained if there are this many bytes more in all. The bytes
# have two parts: 16 KiB, which the interpreter and the guard allocate in any run
# (analysis.tolerance), and the size of two numbers per generation, because a loop may keep a few
# numbers of each. Chosen.
_GAINED_BYTES, _GAINED_PER_GENERATION = 16_384, 64
# What was gained calls for a search for holders that is dear if a class has at least this many
# instances more for each generation, or if there are this many bytes more. Measured on 708 recorded
# runs, with ``LEFT_BEHIND``: of 217 calm ones that were searched at their end 118 would not have
# been, and none of the 325 that leak would have lost a finding.
_MUCH_PER_GENERATION, _MUCH_BYTES = 0.5, 1_000_000
#: So do the lines where each generation leaves as much, if they have left more bytes together.
LEFT_BEHIND = 30_000
# The most classes whose holders a look searches for. Chosen.
_MOST_CLASSES = 10
# Types of the entries in caches of the standard library, such as the weak references that abstract
# base classes cache. The number of entries varies in any program, so these types are treated as
# builtin types.
_CACHED = frozenset({"functools._lru_list_elem", "re.Pattern", "weakref.ReferenceType"})


def has_gained(change: Mapping[str, TypeCount], own: int, generations: int) -> bool:
    """Return whether a look counted more than another that many ``generations`` before.

    Args:
        change: how many more there are of each type; negative for fewer.
        own: the memory in bytes that the guard has taken in between; negative if it let go of some.
        generations: how many passed between the two looks.
    """
    if classes_gained(change):
        return True
    return _bytes_gained(change, own) > _GAINED_BYTES + _GAINED_PER_GENERATION * generations


def has_gained_much(change: Mapping[str, TypeCount], own: int, generations: int) -> bool:
    """Return whether a look counted so much more that who holds it is asked whatever it costs.

    The arguments are those of ``has_gained``.
    """
    most = max((entry.count for name, entry in change.items() if not _is_builtin(name)), default=0)
    many = most >= max(GAINED_INSTANCES, _MUCH_PER_GENERATION * generations)
    return many or _bytes_gained(change, own) > _MUCH_BYTES


def _bytes_gained(change: Mapping[str, TypeCount], own: int) -> int:
    return sum(max(more.bytes or 0, 0) for more in change.values()) - max(own, 0)


def classes_gained(change: Mapping[str, TypeCount]) -> Sequence[str]:
    """Return the classes that gained instances, those with most first; builtin types are none."""
    more = {name: entry.count for name, entry in change.items() if not _is_builtin(name)}
    found = [name for name, count in more.items() if count >= GAINED_INSTANCES]
    return sorted(found, key=lambda name: -more[name])[:_MOST_CLASSES]


def _is_builtin(name: str) -> bool:
    return "." not in name or name in _CACHED
