"""When a look at who holds what is worth its price: something grew in two rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from leakguard.capture.streak import Streak
from leakguard.model import TypeCount

_ENOUGH = 2
_MOST_SUSPECTS = 10
# What the standard library caches comes and goes like builtins.
_CACHED = frozenset({"functools._lru_list_elem", "re.Pattern"})


class _Scale(NamedTuple):
    """What counts as growth: more instances of over ``spare`` bytes, or ``notable`` more bytes."""

    spare: int
    notable: int


_CLASS = _Scale(0, 65_536)
# So many bytes of numbers, texts or dicts are what any program keeps of a few rounds.
_BUILTIN = _Scale(8_192, 65_536)
_MEMORY = _Scale(0, 262_144)


class _Note(msgspec.Struct, array_like=True, gc=False):
    """What is kept of a type: the heights that it rose to, how often, and its rests in between."""

    count: int = 0
    bytes: int = 0
    streak: int = 0
    rest: int = 0
    gap: int = 0

    @property
    def growth(self) -> Streak:
        return Streak(self.streak, self.rest, self.gap)

    @property
    def is_suspicious(self) -> bool:
        return self.streak >= _ENOUGH and self.growth.goes_on

    def after(self, count: int, size: int, scale: _Scale) -> _Note:
        """Return the note a round later."""
        more = count > self.count and (not scale.spare or size > self.bytes + scale.spare)
        grew = more or size > self.bytes + scale.notable
        growth = self.growth.after(grew=grew, fell=count < self.count)
        if grew:
            return _Note(max(count, self.count), max(size, self.bytes), *growth)
        return _Note(self.count, self.bytes, *growth)


_notes = msgspec.msgpack.Decoder(dict[str, _Note])


class Suspicion:
    """Follows the counts of the types from one generation's end to the next.

    A type is suspicious once its count, or its bytes by more than a page or two, reached a new
    height in two rounds, in a row or at the distance that lay between them; builtins, of which any
    program keeps some, once they did so by their bytes. The notes are packed into one object.
    """

    def __init__(self) -> None:
        self._packed = msgspec.msgpack.encode({})
        self._first = True
        self._memory: _Note | None = None
        self._children: _Note | None = None

    def note_children(self, count: int) -> bool:
        """Take the number of child processes at a generation's end; return whether it goes on."""
        self._children = (self._children or _Note(count)).after(count, 0, _CLASS)
        return self._children.is_suspicious

    def note_memory(self, size: int) -> bool:
        """Take the live memory at a generation's end; return whether it goes on growing."""
        self._memory = (self._memory or _Note(0, size)).after(0, size, _MEMORY)
        return self._memory.is_suspicious

    def note(self, types: Mapping[str, TypeCount]) -> bool:
        """Take the census of a generation's end; return whether something is suspicious."""
        before, unknown = _notes.decode(self._packed), _Note()
        after = {}
        for name, entry in types.items():
            now = entry.count, entry.bytes or 0
            known = _Note(*now) if self._first else before.get(name, unknown)
            after[name] = known.after(*now, _CLASS if _is_of_a_program(name) else _BUILTIN)
        self._first = False
        self._packed = msgspec.msgpack.encode(after)
        return any(note.is_suspicious for note in after.values())

    def suspects(self) -> list[str]:
        """Return the suspicious classes, builtins aside, those with most instances first."""
        notes = _notes.decode(self._packed)
        found = [name for name, note in notes.items() if note.is_suspicious and "." in name]
        return sorted(found, key=lambda name: -notes[name].count)[:_MOST_SUSPECTS]


def _is_of_a_program(name: str) -> bool:
    return "." in name and name not in _CACHED
