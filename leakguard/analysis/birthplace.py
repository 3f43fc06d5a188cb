"""Where and when the objects that a holder gained were made, read from their births."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple, TypeAlias

from leakguard.analysis.tolerance import MAJORITY, NEARLY_ALL, ONE_IN_A_HUNDRED, REPEATED
from leakguard.model import Holder, Run, Snapshot
from leakguard.model.births import Birthplace, Births
from leakguard.model.code_line import code_line, written
from leakguard.model.holder import ELEMENT
from leakguard.model.residue import Residue, generations, residue

# The largest block in bytes to which the intervals of ``Births`` apply (``SMALL`` in births.h).
_SMALL_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Trail:
    """What the generations left behind, one after the other.

    Attributes:
        residue: what each round left behind.
        since: the first generation that is known to have left something.
        perhaps: the first generation that may have left something; earlier ones have not.
        lasted: how many generations there were from ``since`` until the look.
    """

    residue: Residue
    since: int
    perhaps: int
    lasted: int

    def began(self, counted: int | None) -> int:
        """Return the first generation: by counts if births do not contradict it, else by births.

        Births that are not steady may be too few: then the earlier of the two is right.
        """
        if counted is None:
            return self.since
        if self.perhaps <= counted <= self.since:
            return counted
        return self.since if self.residue.steady else min(counted, self.since)


@dataclass(frozen=True, slots=True)
class Birth:
    """What births show about the memory that one holder gained since the loop began.

    Attributes:
        place: the line that made most of the memory; None if no line is known.
        phase: the phase that made most of the memory; empty outside of phases, None if no phase
            made most of it.
        trail: what each generation left behind; None if too few blocks were sampled to tell.
        on_device: whether all bytes are of a GPU's memory.
    """

    place: Birthplace | None
    phase: str | None
    trail: Trail | None
    on_device: bool = False

    def kept_by(self, holder: Holder) -> int | None:
        """Return the bytes that the holder keeps in the memory that these births are of."""
        return holder.device_bytes if self.on_device else holder.retained_bytes

    def began(self, counted: int | None) -> int | None:
        """Return the first generation that left something, given the first one by counts."""
        return counted if self.trail is None else self.trail.began(counted)


#: A function or a line outside of functions, its phase, and whether C code allocated.
_Function: TypeAlias = "tuple[str, str, bool]"


class _Live(NamedTuple):
    """Bytes that are alive, an estimate, with its standard error."""

    bytes: float
    error: float

    @property
    def sure(self) -> float:
        """The bytes less their standard error."""
        return self.bytes - self.error

    @classmethod
    def sum(cls, parts: Iterable[_Live]) -> _Live:
        """Return the sum of independent estimates."""
        known = list(parts)
        return cls(sum(p.bytes for p in known), math.hypot(*(p.error for p in known)))


class _Calls(NamedTuple):
    """Which calls of a run may be told as what made something.

    Attributes:
        files: the program's files, in which births have their lines.
        outside: the frames in which all lines of the loop lie: the loop itself was called there.
    """

    files: frozenset[str]
    outside: frozenset[str]

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> _Calls:
        """Return those of the last births."""
        births = () if snapshot is None or snapshot.births is None else snapshot.births.places
        places = [place for place in births if place.place is not None]
        in_loop = (p for p in places if any(cohort.round >= 0 for cohort in p.cohorts))
        stacks = [frozenset(_frames(place)) for place in in_loop]
        outside = frozenset.intersection(*stacks) if len(stacks) > 1 else frozenset()
        return cls(frozenset(filter(None, map(_file, map(_frame, places)))), outside)

    def may_make(self, frame: str) -> bool:
        """Return whether a frame is a call of the program inside of the loop."""
        return frame not in self.outside and (not self.files or _file(frame) in self.files)


class RunBirths:
    """What the births of one run say; each holder is asked about once."""

    def __init__(self, run: Run) -> None:
        """Index the holders whose births are known, each at its last look."""
        self._run = run
        self._rounds = _rounds(run, None)
        self._taken = _taken(run)
        self._looks = {
            holder.path: (snapshot, holder.born)
            for snapshot in run.snapshots
            for holder in reversed(snapshot.holders)  # of two holders at one path, use the first
            if holder.born
        }
        self._known: dict[str, Birth | None] = {}
        self._calls = _Calls.of(self._last_births())

    def of_holder(self, path: str) -> Birth | None:
        """Return the births of a holder at the last look that found survivors; None if none."""
        if path not in self._known:
            look = self._look_at(path)
            self._known[path] = None if look is None else self._birth(*look)
        return self._known[path]

    def _look_at(self, path: str) -> tuple[Snapshot, tuple[Birthplace, ...]] | None:
        """Return the births of a container at its last look, or of its entries in turn."""
        return self._looks.get(path) or self._at_other_depth(path)

    def _at_other_depth(self, path: str) -> tuple[Snapshot, tuple[Birthplace, ...]] | None:
        """Return the births of the same container's entries, or of their entries in turn."""
        base = _base(path)
        alike = (look for other, look in self._looks.items() if _base(other) == base)
        return max(alike, key=lambda look: sum(p.bytes for p in look[1]), default=None)

    def of_garbage(self, name: str) -> Birth | None:
        """Return the births of instances of a class that only cycles kept alive.

        They do not tell since when: collections of the program's own may have freed earlier ones.
        """
        looks = ((s, s.collection) for s in reversed(self._run.snapshots) if s.collection)
        known = ((s, freed.made.get(name)) for s, freed in looks)
        birth = next((self._birth(s, made) for s, made in known if made), None)
        return None if birth is None else replace(birth, trail=None)

    def share_of_loop(self, path: str, kept: float) -> float:
        """Return the share of the ``kept`` bytes of a container that the loop made.

        It is that of the samples, unless most of what the container keeps has none: so it is with
        what was there before births were recorded. A few samples may stand for half of the bytes.
        """
        look = self._look_at(path)
        cohorts = [] if look is None else [c for place in look[1] for c in place.cohorts]
        whole = sum(cohort.bytes for cohort in cohorts)
        made = sum(cohort.bytes for cohort in cohorts if cohort.round >= 0)
        known = whole if whole >= MAJORITY * kept else kept
        return made / known if known else 1.0

    def is_from_before(self, holder: Holder) -> bool:
        """Return whether births show that a container keeps nothing that the loop made.

        None of its bytes were sampled, although it would be a rare chance to miss all of them. Only
        of small blocks it is known how many are sampled.
        """
        last, size = self._last_births(), holder.retained_bytes or 0
        births = None if last is None else last.births
        if births is None or births.native_interval is None or self._look_at(holder.path):
            return False
        samples = births.share * size / max(births.interval, births.native_interval)
        is_small = size <= _SMALL_BLOCK * holder.entries
        return is_small and math.exp(-samples) <= ONE_IN_A_HUNDRED

    def is_late(self, path: str) -> bool:
        """Return whether births show that nothing in a container comes from the first generations.

        So it is if each generation replaces what the one before put there, or if the container is a
        sliding window. If all generations had put in as much, it would be a rare chance that all
        samples are so young.
        """
        look = self._look_at(path)
        cohorts = [] if look is None else [c for place in look[1] for c in place.cohorts]
        if look is None or not cohorts:
            return False
        rounds = _rounds(self._run, look[0].generation)
        first = min(cohort.round for cohort in cohorts)
        samples = sum(cohort.samples for cohort in cohorts)
        return 0 < first < rounds and (1 - first / rounds) ** samples <= ONE_IN_A_HUNDRED

    def of_bytes(
        self, rate: float, told: Container[str | None] = (), holders: Iterable[str] = ()
    ) -> Birth | None:
        """Return the births of the line that leaves about ``rate`` bytes per generation.

        This is for memory whose holder no look has found: C code may hold it. None if no line does
        but those that are ``told`` already. What a line made for ``holders`` does not count.
        """
        snapshot = self._last_births()
        if snapshot is None or snapshot.births is None or rate <= 0:
            return None
        held = self._bytes_in(holders)
        fits = []
        for place in snapshot.births.places:
            known = place.place is not None and place.cohorts and place.place not in told
            birth = self._birth(snapshot, (place,)) if known else None
            if birth is not None and birth.trail is not None and birth.trail.residue.steady:
                apart = 1 - min(held.get(place.place, 0.0) / max(place.bytes, 1.0), 1.0)
                left = apart * birth.trail.residue.rate
                if MAJORITY * rate <= left <= rate / MAJORITY:
                    fits.append((left, birth))
        return max(fits, key=lambda fit: fit[0], default=(0.0, None))[1]

    def _bytes_in(self, holders: Iterable[str]) -> dict[str | None, float]:
        """Return the bytes that each line made of what lies in these containers."""
        held: defaultdict[str | None, float] = defaultdict(float)
        looks = filter(None, map(self._look_at, dict.fromkeys(holders)))
        for place in chain.from_iterable(born for _, born in looks):
            held[place.place] += 0 if place.device else place.bytes
        return held

    def of_one_piece(
        self, size: float, since: int | None, told: Container[str | None] = ()
    ) -> Birth | None:
        """Return the births of the function whose live total rose by about ``size`` bytes.

        A buffer that is replaced by a larger one is always young: only the total shows that it
        grows, and each line that extends it takes it from the others. The total must rise at each
        look since generation ``since`` that found it, at two or more. Lines that are ``told``
        already made something else.
        """
        begins = since or 1
        looks = [
            (s.generation, _by_function(s.births))
            for s in self._run.snapshots
            if s.births is not None and s.generation
        ]
        later = [places for generation, places in looks if generation >= begins]
        before = [places for generation, places in looks if generation < begins][-1:]
        if len(later) < 2 or size <= 0:
            return None

        def rise(function: _Function) -> float:
            """Return the bytes that a function's total rose by; 0 if it did not at each look."""
            live = [sum(p.bytes for p in seen.get(function, ())) for seen in (*before, *later)]
            first = next((at for at, total in enumerate(live) if total), 0)
            live = live[max(first - 1, 0) :]  # the buffer may be made later
            return live[-1] - live[0] if all(a < b for a, b in pairwise(live)) else 0.0

        found = (f for f, places in later[-1].items() if places[0].place not in told)
        fits = (f for f in found if MAJORITY * size <= rise(f) <= size / MAJORITY)
        function = max(fits, key=rise, default=None)
        return None if function is None else Birth(later[-1][function][0], function[1], None)

    def left_by(self, line: str | None) -> float:
        """Return the bytes that each generation left behind at a line, whoever holds them."""
        snapshot = self._last_births()
        if snapshot is None or snapshot.births is None:
            return 0.0
        places = [p for p in snapshot.births.places if p.place == line and p.cohorts]
        left = residue(places, _rounds(self._run, snapshot.generation), self._taken)
        return left.rate if left is not None and left.steady else 0.0

    def _last_births(self) -> Snapshot | None:
        return next((s for s in reversed(self._run.snapshots) if s.births is not None), None)

    def _birth(self, snapshot: Snapshot, born: tuple[Birthplace, ...]) -> Birth | None:
        rounds = _rounds(self._run, snapshot.generation)
        left = residue(born, rounds, self._taken)
        kept = [(p, _live(p, 0 if left is None else left.since)) for p in born]
        place = _place(kept, self._calls)
        phase = _phase(kept, place)
        on_device = any(p.device for p in born)
        if left is None:  # so few samples show something only if they agree
            whole = sum(live.bytes for _, live in kept)
            alike = (live.bytes for p, live in kept if place and _frame(p) == _frame(place))
            agree = place is not None and sum(alike) >= NEARLY_ALL * whole
            return Birth(place, phase, None, on_device) if agree else None
        trail = Trail(
            left,
            self._generation(left.since),
            self._generation(left.since - left.earlier),
            max(generations(self._taken, left.since, rounds), 1),
        )
        return Birth(place, phase, trail, on_device)

    def _generation(self, round_: int) -> int:
        """Return the program's number of a round's generation; rounds are counted from 0."""
        known = self._run.generations
        if self._rounds == len(known):
            return known[min(round_, len(known) - 1)]
        return round(known[0] + round_ * (known[-1] - known[0]) / max(self._rounds - 1, 1))


def _place(kept: list[tuple[Birthplace, _Live]], calls: _Calls) -> Birthplace | None:
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
    most: Birthplace, kept: list[tuple[Birthplace, _Live]], calls: _Calls
) -> Birthplace | None:
    """Return the innermost line on the stack of ``most`` that made nearly all of the bytes.

    If several lines of one function made them, it is the one of them that made most. It is a call
    if they are lines of several functions, or of what makes an object. None without such a line.
    """
    frames = _frames(most)
    stacks = [(_frames(place) if place.place else (), live) for place, live in kept]

    def made_nearly_all(lines: AbstractSet[str]) -> bool:
        through = _Live.sum(live for stack, live in stacks if not lines.isdisjoint(stack))
        others = _Live.sum(live for stack, live in stacks if lines.isdisjoint(stack))
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
    return tuple(dict.fromkeys((_frame(place), *place.stack)))


def _frame(place: Birthplace) -> str:
    return written(str(place.place), place.function)


def _file(frame: str) -> str | None:
    line = code_line(frame)
    return None if line is None else line.file


def _phase(kept: list[tuple[Birthplace, _Live]], place: Birthplace | None) -> str | None:
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


def _by_function(births: Births) -> dict[_Function, list[Birthplace]]:
    """Return what one look saw of each function of the program, the line of most bytes first."""
    found: defaultdict[_Function, list[Birthplace]] = defaultdict(list)
    for place in sorted(births.places, key=lambda place: -place.bytes):
        if place.place is not None:
            file = place.place.rpartition(":")[0]
            where = place.place if place.function is None else f"{file} {place.function}"
            found[where, place.phase, place.native].append(place)
    return found


def _base(path: str) -> str:
    """Return a container's path, however deep in it the path leads."""
    while path.endswith(ELEMENT):
        path = path.removesuffix(ELEMENT)
    return path


def _live(place: Birthplace, first: int) -> _Live:
    """Return what a place made since round ``first`` and is alive."""
    return _Live.sum(_Live(c.bytes, c.error) for c in place.cohorts if c.round >= first)


def _rounds(run: Run, last: int | None) -> int:
    """Return how many rounds had been recorded by the end of generation ``last``.

    Rounds that were left out of a long run lie evenly among the others.
    """
    known = run.generations
    seen = sum(1 for generation in known if last is None or generation <= last)
    return seen + run.left_out * seen // max(len(known), 1)


def _taken(run: Run) -> list[int]:
    """Return how many generations each round stands for; empty if each is one."""
    taken = [(end.taken or 1) + (end.passed or 0) for end in run.generation_ends()]
    if all(number == 1 for number in taken):
        return []
    rounds = _rounds(run, None)
    return [taken[round_ * len(taken) // rounds] for round_ in range(rounds)]
