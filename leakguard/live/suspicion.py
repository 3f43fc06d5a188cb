"""Decides when a look at holders is worth its cost: once something grew in two generations."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from leakguard.capture.streak import Streak
from leakguard.model import Census, TypeCount
from leakguard.model.census import GRAPH_NODE

# The most classes whose holders a look searches for. Chosen.
_MOST_SUSPECTS = 10
# Types of the entries in caches of the standard library, such as the weak references that abstract
# base classes cache. The number of entries varies in any program, so these types are treated as
# builtin types.
_CACHED = frozenset({"functools._lru_list_elem", "re.Pattern", "weakref.ReferenceType"})


class _Threshold(NamedTuple):
    """What makes a type suspicious.

    Attributes:
        enough: the number of rises. A rise is a generation with more instances than any before, or
            with ``notable`` bytes more.
        spare: bytes that additional instances must have to be a rise.
        notable: bytes that are a rise whatever the number of instances.
        steep: bytes per generation that the rises must average if some generations had none. The
            first rise does not count, because it may be a warm-up.
    """

    enough: int
    spare: int
    notable: int
    steep: int


# Limits for a class that is no builtin type. The limits are low, because a suspicion only leads to
# a deeper look, and a verdict needs more evidence. Chosen: two rises, and a rise is one more
# instance, or more than 65,536 additional bytes (16 pages of 4 KiB).
_CLASS = _Threshold(enough=2, spare=0, notable=65_536, steep=0)
# Limits for a builtin type. Any program keeps some numbers, texts and dicts per generation, and
# sometimes many. Chosen: three rises, one more than for a class. More instances are a rise only if
# they add more than 2,048 bytes (half a page of 4 KiB). If the rises are not in consecutive
# generations, all but the first must add 8,192 bytes (two pages) each, on average.
_BUILTIN = _Threshold(enough=3, spare=2_048, notable=65_536, steep=8_192)
# If looks are far apart, growth of a builtin type by up to this many bytes per generation is no
# rise, because a program may keep a few numbers of each generation. Chosen: half of the least gain
# of a container that is reported (analysis.tolerance).
_SOME = 512
# Limits for live memory as a whole. Live memory is noisier than counted objects. Chosen: two rises,
# and a rise is more than 262,144 bytes (64 pages of 4 KiB).
_MEMORY = _Threshold(enough=2, spare=0, notable=262_144, steep=0)
#: A class has gained something if it has this many instances more. Chosen: any loop may keep one
#: object more, such as its loop variable.
GAINED_INSTANCES = 2
# The last look searches for holders only if a class gained something since the first census, or the
# builtin types this many bytes in all. The bytes have two parts: 16 KiB, which the interpreter and
# the guard allocate in any run (analysis.tolerance), and the size of two numbers per generation,
# because a loop may keep a few numbers of each. Chosen.
_GAINED_BYTES, _GAINED_PER_GENERATION = 16_384, 64
# Limits for torch's backward graphs, which are counted in nodes. The number of nodes at the end of
# a generation is the same in all generations, unless a tensor carries its graph from one to the
# next. So one rise suffices, and a short run may show only one: it may have only a look at its
# beginning and a look at its end. Chosen: a rise is more than 65,536 bytes, some hundred
# nodes.
_GRAPHS = _Threshold(enough=1, spare=65_536, notable=65_536, steep=0)


class _Note(msgspec.Struct, array_like=True, gc=False):
    """The record of a type: its maxima, its bytes at the first of them, and their number."""

    count: int = 0
    bytes: int = 0
    origin: int = 0
    streak: int = 0
    rest: int = 0
    gap: int = 0

    @classmethod
    def first(cls, count: int, size: int) -> _Note:
        """Return the note of a new type."""
        return cls(count, size, size)

    @property
    def growth(self) -> Streak:
        return Streak(self.streak, self.rest, self.gap)

    def is_suspicious(self, threshold: _Threshold) -> bool:
        later = self.streak - 1
        is_steep = not self.gap or self.bytes - self.origin >= threshold.steep * later
        return self.streak >= threshold.enough and self.growth.goes_on and is_steep

    def after(self, count: int, size: int, threshold: _Threshold) -> _Note:
        """Return the note one generation later."""
        more = count > self.count and (not threshold.spare or size > self.bytes + threshold.spare)
        grew = more or size > self.bytes + threshold.notable
        growth = self.growth.after(grew=grew, fell=count < self.count)
        count, size = max(count, self.count), max(size, self.bytes)
        if grew:
            return _Note(count, size, self.origin if growth.times > 1 else size, *growth)
        return _Note(self.count, self.bytes, self.origin, *growth)


_NOTHING = TypeCount(0, 0)
_notes = msgspec.msgpack.Decoder(dict[str, _Note])


class Suspicion:
    """Follows the counts of the types from one generation's end to the next.

    A class is suspicious once its count reached a new maximum in two generations, or its bytes rose
    above their maximum by 64 KiB in two. The two generations are consecutive, or as far apart as
    the rises before them. A builtin type is suspicious once its bytes rose three times in a row, or
    by much if not in a row. The notes are packed into one object, which a census does not count.
    """

    def __init__(self) -> None:
        self._packed = msgspec.msgpack.encode({})
        self._first = True
        self._apart = 0
        self._numbers: dict[str, _Note] = {}

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds the notes."""
        return sys.getsizeof(self._packed)

    def begin_again(self) -> None:
        """Forget the maxima: a collection freed much, and growth starts again far below them."""
        self._first = True

    def note_children(self, count: int) -> bool:
        """Record the number of child processes at a generation's end; return whether it rises."""
        return self._goes_on("children", count, 0, _CLASS)

    def note_graphs(self, types: Mapping[str, TypeCount]) -> bool:
        """Record a census at a generation's end; return whether backward graphs became longer."""
        entry = types.get(GRAPH_NODE, _NOTHING)
        return self._goes_on("graphs", entry.count, entry.bytes or 0, _GRAPHS)

    def note_memory(self, size: int) -> bool:
        """Record the live memory at a generation's end; return whether it still grows."""
        self._apart += 1
        return self._goes_on("memory", 0, size, _MEMORY)

    def note_memory_at_look(self, size: int) -> bool:
        """Record the bytes in use at a look; return whether they still grow from look to look.

        Small growth per generation adds up between looks that are far apart.
        """
        return self._goes_on("memory at looks", 0, size, _MEMORY)

    def _goes_on(self, what: str, count: int, size: int, threshold: _Threshold) -> bool:
        """Record the next value of a followed number; return whether it still rises."""
        known = self._numbers.get(what) or _Note.first(count, size)
        self._numbers[what] = note = known.after(count, size, threshold)
        return note.is_suspicious(threshold)

    def note(self, types: Mapping[str, TypeCount]) -> bool:
        """Record the census of a generation's end; return whether anything is suspicious."""
        before, unknown = _notes.decode(self._packed), _Note()
        spare = min(max(_SOME * self._apart, _BUILTIN.spare), _BUILTIN.notable)
        builtin = _BUILTIN._replace(spare=spare)
        after = {}
        for name, entry in types.items():
            now = entry.count, entry.bytes or 0
            known = _Note.first(*now) if self._first else before.get(name, unknown)
            after[name] = known.after(*now, builtin if _is_builtin(name) else _CLASS)
        self._first, self._apart = False, 0
        self._packed = msgspec.msgpack.encode(after)
        return any(note.is_suspicious(_threshold_of(name)) for name, note in after.items())

    def suspects(self) -> list[str]:
        """Return the suspicious classes without builtins, those with most instances first."""
        notes = _notes.decode(self._packed)
        found = [
            n for n, note in notes.items() if "." in n and note.is_suspicious(_threshold_of(n))
        ]
        return sorted(found, key=lambda name: -notes[name].count)[:_MOST_SUSPECTS]


def has_gained(before: Census, now: Census, own: int, generations: int) -> bool:
    """Return whether a census has more objects than one that many ``generations`` before.

    ``own`` is the memory in bytes of builtin types that the guard has taken in between.
    """
    gained = -own
    for name, entry in now.types.items():
        known = before.types.get(name, _NOTHING)
        if not _is_builtin(name) and entry.count >= known.count + GAINED_INSTANCES:
            return True
        gained += max((entry.bytes or 0) - (known.bytes or 0), 0)
    return gained > _GAINED_BYTES + _GAINED_PER_GENERATION * generations


def _threshold_of(name: str) -> _Threshold:
    return _BUILTIN if _is_builtin(name) else _CLASS


def _is_builtin(name: str) -> bool:
    return "." not in name or name in _CACHED
