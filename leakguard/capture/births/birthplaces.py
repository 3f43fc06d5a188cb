"""Sums samples by stack into samples by line: what is alive, by line, phase and round of birth."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import TypeAlias

from leakguard.capture.library import OWN_FOLDER
from leakguard.capture.stack import Frame, Lines, described, is_programs, origin_among, place
from leakguard.model.births import Birthplace, Births, Cohort

#: Number of the stack, round, number of the phase, kind of memory (``PYTHON``, ``NATIVE`` or
#: ``DEVICE``), samples, bytes, count, variance of the bytes, variance of the count.
Row: TypeAlias = tuple[int, int, int, int, int, float, float, float, float]
#: Kinds of memory: Python's own, what C code took, and that of GPUs.
PYTHON, NATIVE, DEVICE = range(3)
#: The file, line and function of a place, and the number of the place that called it; 0 for none.
Place: TypeAlias = tuple[tuple[str, int, str], int]
#: The files, lines and functions of a stack, innermost first.
Frames: TypeAlias = tuple[tuple[str, int, str], ...]
#: The initializers of what a block belongs to, for ``capture.stack.origin``; None if unknown.
Constructors: TypeAlias = "frozenset[Lines] | None"

# Most birthplaces that are reported because many bytes born there are alive. Chosen.
_MOST_ALIVE = 16
# Most birthplaces that are reported because many bytes born there are old: see ``_Alive.old``.
# Chosen.
_MOST_OLD = 16
# Most cohorts that are reported for a birthplace. If the run has more rounds than this, a cohort
# has the survivors of several consecutive rounds. Chosen.
_MOST_COHORTS = 32
# A survivor that was born in the latest ``_YOUNG`` rounds is not old, because the program may still
# use it. Chosen.
_YOUNG = 2
# The stacks of CPython 3.13 have an extra frame below each call of a class. This is the name of
# both the function and the file of the extra frame.
_TRAMPOLINE = "__init__"


@dataclass(slots=True)
class _Sum:
    samples: int = 0
    bytes: float = 0.0
    count: float = 0.0
    variance: float = 0.0

    def add(self, row: Row) -> None:
        self.samples += row[4]
        self.bytes += row[5]
        self.count += row[6]
        self.variance += row[7]

    def join(self, other: _Sum) -> None:
        self.samples += other.samples
        self.bytes += other.bytes
        self.count += other.count
        self.variance += other.variance


@dataclass(slots=True)
class _Alive:
    """What is alive of one line and phase; ``stacks`` has the bytes of each stack of that line.

    A stack has its number, and the initializers of what its blocks belong to.
    """

    total: _Sum = field(default_factory=_Sum)
    by_round: dict[int, _Sum] = field(default_factory=dict)
    stacks: dict[tuple[int, Constructors], float] = field(default_factory=dict)

    def add(self, row: Row, constructors: Constructors, width: int) -> None:
        self.total.add(row)
        born = row[1] if row[1] < 0 else row[1] // width * width
        self.by_round.setdefault(born, _Sum()).add(row)
        stack = row[0], constructors
        self.stacks[stack] = self.stacks.get(stack, 0.0) + row[5]

    def old(self, rounds: int) -> float:
        """Return the bytes born in rounds that ended some rounds ago, except the first round."""
        return sum(s.bytes for born, s in self.by_round.items() if 0 < born < rounds - _YOUNG)


_Key: TypeAlias = "tuple[str | None, str | None, int, int]"


@dataclass(slots=True)
class Stacks:
    """The stacks of a record, each by the number of its innermost place.

    A look reads thousands of stacks, of up to 64 frames. Which line asked depends on the program's
    own frames only, so all that libraries did below one place of the program is read once.
    """

    places: Mapping[int, Place]
    _below: dict[int, int] = field(default_factory=dict)
    _read: dict[tuple[int, Constructors], _StackRead] = field(default_factory=dict)

    def reader(self, stack: int, constructors: Constructors = None) -> _StackRead:
        """Return what a stack says; an unknown number is a stack without frames."""
        program = self._program_at(stack)
        key = program or stack, constructors
        read = self._read.get(key)
        if read is None:
            frames = self.frames(program) if program else self._innermost(stack)
            read = self._read[key] = _StackRead(frames, constructors)
        return read

    def _innermost(self, stack: int) -> Frames:
        """Return the frames that say the line of a stack of libraries only: no more than needed."""
        found = []
        while stack in self.places:
            frame, stack = self.places[stack]
            if not _is_trampoline(frame):
                found.append(frame)
                if not frame[2].startswith("<"):
                    break
        return tuple(found)

    def frames(self, stack: int) -> Frames:
        """Return the frames of a stack."""
        found, places = [], self.places
        while stack in places:
            frame, stack = places[stack]
            found.append(frame)
        if sys.version_info >= (3, 13):
            found = [frame for frame in found if not _is_trampoline(frame)]
        return tuple(found)

    def runs(self, stack: int, functions: Iterable[Lines]) -> bool:
        """Return whether a stack is inside of one of these functions."""
        frames = tuple(starmap(Frame, self.frames(stack)))
        return any(lines.has(frame) for lines in functions for frame in frames)

    def texts(self, stack: int, constructors: Constructors) -> tuple[str, ...]:
        """Return the frames as text, from the line that asked."""
        return _StackRead(self.frames(stack), constructors).texts()

    def _program_at(self, stack: int) -> int:
        """Return the innermost place of the program or of the guard; 0 if there is none."""
        way, at = [], stack
        while at not in self._below:
            known = self.places.get(at)
            if known is None:
                break
            if _is_programs(known[0]):
                self._below[at] = at
            else:
                way.append(at)
                at = known[1]
        found = self._below.get(at, 0)
        self._below.update(dict.fromkeys(way, found))
        return found


@dataclass(slots=True)
class _Sums:
    """What is alive by place, function, phase and kind of memory.

    ``width`` is the number of rounds in one cohort.
    """

    width: int
    alive: dict[_Key, _Alive] = field(default_factory=dict)


def told(
    rows: Iterable[Row],
    stacks: Stacks,
    phases: Sequence[str],
    rounds: int,
    how: tuple[float, float, float | None],
) -> Births:
    """Return the births as values, without what the guard allocated for itself.

    ``how`` is the share of CPU time that was recorded, and the sampling intervals of Python and of
    native memory.
    """
    sums = _sums(((row, None) for row in rows), stacks, rounds)
    whole = _Sum()
    for alive in sums.alive.values():
        whole.join(alive.total)
    share, interval, native = how
    places = []
    for key, is_old in _chosen(sums.alive, rounds):
        birthplace = _birthplace(key, sums, stacks, phases)
        places.append(birthplace if is_old else replace(birthplace, cohorts=()))
    return Births(
        round(whole.bytes),
        round(whole.variance**0.5),
        round(share, 3),
        interval,
        tuple(places),
        native,
        whole.samples,
        rounds or None,
    )


def birthplaces(
    rows: Iterable[tuple[Row, Constructors]], stacks: Stacks, phases: Sequence[str], rounds: int
) -> tuple[Birthplace, ...]:
    """Return all places of these rows with their cohorts; places with the most bytes first."""
    sums = _sums(rows, stacks, rounds)
    alive = sorted(sums.alive, key=lambda key: -sums.alive[key].total.bytes)
    return tuple(_birthplace(key, sums, stacks, phases) for key in alive)


def _sums(rows: Iterable[tuple[Row, Constructors]], stacks: Stacks, rounds: int) -> _Sums:
    sums = _Sums(_width(rounds))
    for row, constructors in rows:
        stack = stacks.reader(row[0], constructors)
        if not stack.is_ours:
            key = (stack.place, stack.function, row[2], row[3])
            sums.alive.setdefault(key, _Alive()).add(row, constructors, sums.width)
    return sums


def _width(rounds: int) -> int:
    """Return how many rounds are one cohort.

    It is a power of two, so that the cohorts of successive snapshots of a run begin alike.
    """
    width = 1
    while rounds > _MOST_COHORTS * width:
        width *= 2
    return width


def _chosen(found: Mapping[_Key, _Alive], rounds: int) -> list[tuple[_Key, bool]]:
    """Return the keys of the places to report, most bytes first, and whether to add cohorts."""
    alive = sorted(found, key=lambda key: -found[key].total.bytes)
    old = set(sorted(alive, key=lambda key: -found[key].old(rounds))[:_MOST_OLD])
    kept = old.union(alive[:_MOST_ALIVE])
    return [(key, key in old) for key in alive if key in kept]


def _birthplace(key: _Key, sums: _Sums, stacks: Stacks, phases: Sequence[str]) -> Birthplace:
    where, function, phase, kind = key
    alive = sums.alive[key]
    heaviest = max(alive.stacks, key=lambda stack: alive.stacks[stack])
    total = alive.total
    return Birthplace(
        phases[phase] if phase < len(phases) else "",
        kind == NATIVE,
        round(total.bytes),
        round(total.variance**0.5),
        round(total.count, 1),
        total.samples,
        where,
        function,
        tuple(_cohort(born, sums.width, of) for born, of in sorted(alive.by_round.items())),
        stacks.texts(*heaviest),
        device=kind == DEVICE,
    )


def _cohort(born: int, width: int, of: _Sum) -> Cohort:
    rounds = 1 if born < 0 else width
    return Cohort(born, rounds, round(of.bytes), round(of.variance**0.5), of.samples)


class _StackRead:
    """One stack: the program's own line in it, and whether the guard made the allocation."""

    __slots__ = ("_asked", "_frames", "function", "is_ours", "place")

    def __init__(self, frames: Frames, constructors: Constructors) -> None:
        self._frames = frames
        files = [file for file, _, _ in self._frames]
        self._asked = origin_among(files, self._at, constructors) if files else 0
        at = self._at(self._asked) if files else None
        self.place = None if at is None else place(at)
        self.function = None if at is None else at.function
        # Those that ``Stacks`` reads begin at the program or the guard, if they lead to either.
        self.is_ours = bool(files) and files[0].startswith(OWN_FOLDER)

    def _at(self, index: int) -> Frame:
        file, line, _ = self._frames[index]
        return Frame(file, line, _function(self._frames, index))

    def texts(self) -> tuple[str, ...]:
        return described([self._at(index) for index in range(len(self._frames))], self._asked)


def _function(frames: Frames, index: int) -> str | None:
    """Return the function's name; a comprehension counts as part of the function around it."""
    for file, _, name in frames[index:]:
        if not name.startswith("<"):
            return name
        if name in ("<module>", "<lambda>") or file != frames[index][0]:
            return None
    return None


def _is_trampoline(frame: tuple[str, int, str]) -> bool:
    return frame[0] == frame[2] == _TRAMPOLINE


def _is_programs(frame: tuple[str, int, str]) -> bool:
    """Return whether a frame is the program's or the guard's."""
    file = frame[0]
    return (is_programs(file) and not _is_trampoline(frame)) or file.startswith(OWN_FOLDER)
