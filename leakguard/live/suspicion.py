"""When a look at who holds what is worth its price: something grew in two rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from leakguard.capture.streak import Streak
from leakguard.model import TypeCount
from leakguard.model.census import GRAPH_NODE

# Classes that a look at holders is asked about at the most. Chosen.
_MOST_SUSPECTS = 10
# What the standard library caches comes and goes like builtins.
_CACHED = frozenset({"functools._lru_list_elem", "re.Pattern"})


class _Threshold(NamedTuple):
    """What makes a type suspicious.

    Attributes:
        enough: rises that there must have been. A rise is a generation that has more instances
            than any before, or more bytes by ``notable``.
        spare: bytes that more instances must add to be a rise.
        notable: bytes that are a rise whatever the instances say.
        steep: bytes that rises must add on average where generations without one lie between
            them; the first rise, which may be a warm-up, does not count.
    """

    enough: int
    spare: int
    notable: int
    steep: int


# What is suspicious is only looked into: a verdict takes more. So these are chosen low, in pages of
# 4 KiB. Of a class any instance more counts, and of bytes sixteen pages.
_CLASS = _Threshold(enough=2, spare=0, notable=65_536, steep=0)
# Any program keeps some numbers, texts and dicts of a generation, and now and then many of them:
# one rise more, of half a page at least, and of two pages each where they rest.
_BUILTIN = _Threshold(enough=3, spare=2_048, notable=65_536, steep=8_192)
# Where looks lie apart, some numbers of each generation in between: bytes a generation. Chosen:
# half of the least that a container must gain to be told (analysis.tolerance).
_SOME = 512
# Live memory as a whole is noisier than what is counted: sixty-four pages.
_MEMORY = _Threshold(enough=2, spare=0, notable=262_144, steep=0)
# A short run has one look at its begin and one at its end: graphs are the same from generation to
# generation unless one is carried over, so that one rise by a hundred nodes is worth a look.
_GRAPHS = _Threshold(enough=1, spare=65_536, notable=65_536, steep=0)


class _Note(msgspec.Struct, array_like=True, gc=False):
    """What is kept of a type: the heights it rose to, the first one's bytes, and how often."""

    count: int = 0
    bytes: int = 0
    origin: int = 0
    streak: int = 0
    rest: int = 0
    gap: int = 0

    @classmethod
    def first(cls, count: int, size: int) -> _Note:
        """Return the note of a type that is seen for the first time."""
        return cls(count, size, size)

    @property
    def growth(self) -> Streak:
        return Streak(self.streak, self.rest, self.gap)

    def is_suspicious(self, threshold: _Threshold) -> bool:
        later = self.streak - 1
        is_steep = not self.gap or self.bytes - self.origin >= threshold.steep * later
        return self.streak >= threshold.enough and self.growth.goes_on and is_steep

    def after(self, count: int, size: int, threshold: _Threshold) -> _Note:
        """Return the note a round later."""
        more = count > self.count and (not threshold.spare or size > self.bytes + threshold.spare)
        grew = more or size > self.bytes + threshold.notable
        growth = self.growth.after(grew=grew, fell=count < self.count)
        count, size = max(count, self.count), max(size, self.bytes)
        if grew:
            return _Note(count, size, self.origin if growth.times > 1 else size, *growth)
        return _Note(self.count, self.bytes, self.origin, *growth)


_NO_NODES = TypeCount(0, 0)
_notes = msgspec.msgpack.Decoder(dict[str, _Note])


class Suspicion:
    """Follows the counts of the types from one generation's end to the next.

    A class is suspicious once its count, or its bytes by 64 KiB, reached a new height in two
    generations, in a row or as far apart as before; a builtin type once its bytes rose three times
    in a row or, with rests, by much. The notes are packed into one object, so that a census
    does not count them.
    """

    def __init__(self) -> None:
        self._packed = msgspec.msgpack.encode({})
        self._first = True
        self._apart = 0
        self._numbers: dict[str, _Note] = {}

    def begin_again(self) -> None:
        """Forget the heights: much was collected, and what grows begins far below them."""
        self._first = True

    def note_children(self, count: int) -> bool:
        """Take the number of child processes at a generation's end; return whether it goes on."""
        return self._goes_on("children", count, 0, _CLASS)

    def note_graphs(self, types: Mapping[str, TypeCount]) -> bool:
        """Take a census at a generation's end; return whether backward graphs became longer."""
        entry = types.get(GRAPH_NODE, _NO_NODES)
        return self._goes_on("graphs", entry.count, entry.bytes or 0, _GRAPHS)

    def note_memory(self, size: int) -> bool:
        """Take the live memory at a generation's end; return whether it goes on growing."""
        self._apart += 1
        return self._goes_on("memory", 0, size, _MEMORY)

    def note_memory_at_look(self, size: int) -> bool:
        """Take what is in use at a look; return whether it goes on growing from look to look.

        What adds little in each generation adds enough between two looks that lie far apart.
        """
        return self._goes_on("memory at looks", 0, size, _MEMORY)

    def _goes_on(self, what: str, count: int, size: int, threshold: _Threshold) -> bool:
        """Take a number that is followed from one time to the next; return whether it goes on."""
        known = self._numbers.get(what) or _Note.first(count, size)
        self._numbers[what] = note = known.after(count, size, threshold)
        return note.is_suspicious(threshold)

    def note(self, types: Mapping[str, TypeCount]) -> bool:
        """Take the census of a generation's end; return whether something is suspicious."""
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
        """Return the suspicious classes, builtins aside, those with most instances first."""
        notes = _notes.decode(self._packed)
        found = [
            n for n, note in notes.items() if "." in n and note.is_suspicious(_threshold_of(n))
        ]
        return sorted(found, key=lambda name: -notes[name].count)[:_MOST_SUSPECTS]


def _threshold_of(name: str) -> _Threshold:
    return _BUILTIN if _is_builtin(name) else _CLASS


def _is_builtin(name: str) -> bool:
    return "." not in name or name in _CACHED
