"""Which line of the program, and which phase, made what a holder gained."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from leakguard.analysis.tolerance import MAJORITY, NEARLY_ALL, REPEATED
from leakguard.model import Snapshot
from leakguard.model.births import Birthplace
from leakguard.model.code_line import code_line, written


class Live(NamedTuple):
    """Bytes that are alive, an estimate, with its standard error."""

    bytes: float
    error: float

    @property
    def sure(self) -> float:
        """The bytes less their standard error."""
        return self.bytes - self.error

    @classmethod
    def sum(cls, parts: Iterable[Live]) -> Live:
        """Return the sum of independent estimates."""
        known = list(parts)
        return cls(sum(p.bytes for p in known), math.hypot(*(p.error for p in known)))


class Calls(NamedTuple):
    """Which calls of a run may be told as what made something.

    Attributes:
        files: the program's files, in which births have their lines.
        outside: the frames in which all lines of the loop lie: the loop itself was called there.
    """

    files: frozenset[str]
    outside: frozenset[str]

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> Calls:
        """Return those of the last births."""
        births = () if snapshot is None or snapshot.births is None else snapshot.births.places
        places = [place for place in births if place.place is not None]
        in_loop = (p for p in places if any(cohort.round >= 0 for cohort in p.cohorts))
        stacks = [frozenset(_frames(place)) for place in in_loop]
        outside = frozenset.intersection(*stacks) if len(stacks) > 1 else frozenset()
        return cls(frozenset(filter(None, map(_file, map(frame_of, places)))), outside)

    def may_make(self, frame: str) -> bool:
        """Return whether a frame is a call of the program inside of the loop."""
        return frame not in self.outside and (not self.files or _file(frame) in self.files)


def live_since(place: Birthplace, first: int) -> Live:
    """Return what a place made since round ``first`` and is alive."""
    return Live.sum(Live(c.bytes, c.error) for c in place.cohorts if c.round >= first)


def maker(kept: Sequence[tuple[Birthplace, Live]], calls: Calls) -> Birthplace | None:
    """Return the line that made the entries themselves, else the one through which most was made.

    ``kept`` has what is alive of each line. A line that made nearly all of the bytes comes first:
    of entries that are small, chance decides whether one is sampled. One suffices, since it was
    found in the container.
    """
    lines = [(place, live) for place, live in kept if place.place is not None]
    sampled = [(place, live) for place, live in lines if place.samples >= REPEATED]
    most, _ = max(sampled, key=lambda line: line[1].bytes, default=(None, None))
    around = None if most is None else _around(most, kept, calls)
    if around is not most and any(place.entries for place, _ in lines):
        return max(lines, key=lambda line: line[0].entries)[0]
    return around or most


def _around(
    most: Birthplace, kept: Sequence[tuple[Birthplace, Live]], calls: Calls
) -> Birthplace | None:
    """Return the innermost line on the stack of ``most`` that made nearly all of the bytes.

    If several lines of one function made them, it is the one of them that made most. It is a call
    if they are lines of several functions, or of what makes an object. None without such a line.
    """
    frames = _frames(most)
    stacks = [(_frames(place) if place.place else (), live) for place, live in kept]

    def made_nearly_all(lines: AbstractSet[str]) -> bool:
        through = Live.sum(live for stack, live in stacks if not lines.isdisjoint(stack))
        others = Live.sum(live for stack, live in stacks if lines.isdisjoint(stack))
        # Of few samples one may stand for much: either side counts for no more than is sure.
        sure = through.sure if others.bytes else through.bytes
        return sure >= NEARLY_ALL * (sure + others.sure) > 0

    told = (f for f in frames if calls.may_make(f) and made_nearly_all({f}))
    frame = next(told, None)
    if frame is None:
        return None
    if frame == frames[0]:
        return most
    at = frames.index(frame)
    inside = {f for stack, _ in stacks for f in stack if _is_beside(f, frames[at - 1])}
    if calls.may_make(frames[at - 1]) and made_nearly_all(inside):
        at -= 1
    line = code_line(frames[at])
    if line is None:
        return None
    where = f"{line.file}:{line.line}"
    return replace(most, place=where, function=line.function, stack=frames[at:])


def _is_beside(one: str, other: str) -> bool:
    """Return whether two frames are in one function that makes no object by its call."""
    line, known = code_line(one), code_line(other)
    if line is None or known is None or known.function is None:
        return False
    makes_objects = known.function.startswith(("__", "<"))
    return not makes_objects and (line.file, line.function) == (known.file, known.function)


def _frames(place: Birthplace) -> tuple[str, ...]:
    """Return the frames of a line, innermost first, each once."""
    return tuple(dict.fromkeys((frame_of(place), *place.stack)))


def frame_of(place: Birthplace) -> str:
    return written(str(place.place), place.function)


def _file(frame: str) -> str | None:
    line = code_line(frame)
    return None if line is None else line.file


def phase_of_most(kept: Sequence[tuple[Birthplace, Live]], place: Birthplace | None) -> str | None:
    """Return the phase in which the entries themselves were made, else that of most bytes.

    None if no phase made most of the bytes.
    """
    if place is not None and place.entries >= REPEATED:
        return place.phase
    by_phase: defaultdict[str, float] = defaultdict(float)
    for made, live in kept:
        by_phase[made.phase] += live.bytes
    phase, most = max(by_phase.items(), key=lambda entry: entry[1])
    return phase if most >= MAJORITY * sum(by_phase.values()) else None
