"""Where and when the objects that a holder gained were made, read from their births."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from itertools import chain

from leakguard.analysis.birth_rounds import BirthRounds
from leakguard.analysis.held import one_a_name
from leakguard.analysis.live_totals import LiveTotals, Rise, functions_of, lines_of
from leakguard.analysis.maker import Calls, frame_of, live_since, maker, phase_of_most
from leakguard.analysis.tolerance import (
    MAJORITY,
    NEARLY_ALL,
    ONE_IN_A_HUNDRED,
    OWN_SHARE,
    WENT_ON_SHARE,
    is_about,
)
from leakguard.analysis.turnover import Turnover
from leakguard.model import Holder, Run, Snapshot
from leakguard.model.births import Birthplace
from leakguard.model.holder import ELEMENT
from leakguard.model.residue import Residue, residue

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

    @property
    def left(self) -> float:
        """Bytes that each generation leaves behind; 0 if that is not known to go on."""
        trail = self.trail
        return trail.residue.rate if trail is not None and trail.residue.steady else 0.0

    def kept_by(self, holder: Holder) -> int | None:
        """Return the bytes that the holder keeps in the memory that these births are of."""
        return holder.device_bytes if self.on_device else holder.retained_bytes

    def began(self, counted: int | None) -> int | None:
        """Return the first generation that left something, given the first one by counts."""
        return counted if self.trail is None else self.trail.began(counted)


def _large(parts: Iterable[tuple[float, Birth]], rate: float) -> list[tuple[float, Birth]]:
    """Return the parts of a quarter of ``rate`` or more if they come to about all of it."""
    most = [part for part in parts if part[0] >= WENT_ON_SHARE * rate]
    return most if is_about(sum(left for left, _ in most), rate) else []


class RunBirths:
    """What the births of one run say; each holder is asked about once."""

    def __init__(self, run: Run) -> None:
        """Index the holders whose births are known, each at its last look."""
        self._run = run
        self._rounds = BirthRounds(run)
        self._looks = {
            holder.path: (snapshot, holder.born)
            for snapshot in run.snapshots
            for holder in one_a_name(snapshot.holders)
            if holder.born
        }
        self._known: dict[str, Birth | None] = {}
        self._calls = Calls.of(self._last_births())
        self._totals = LiveTotals(run, self._rounds.ran)
        self._turnover = Turnover(run.snapshots, self._rounds.at, self._rounds.lasted)

    def of_holder(self, path: str) -> Birth | None:
        """Return the births of a holder at the last look that found survivors; None if none."""
        if path not in self._known:
            look = self._look_at(path)
            birth = None if look is None else self._birth(*look)
            if look is not None and birth is not None and not birth.left:
                birth = self._at_all_depths(path, look[1]) or birth
            self._known[path] = birth or self._of_buffer(path)
        return self._known[path]

    def _at_all_depths(self, path: str, own: tuple[Birthplace, ...]) -> Birth | None:
        """Return the births of a container and of its other depths, if it has most of them.

        Which depth gains an entry is not clear where few generations have filled each entry. None
        if they do not leave something steadily.
        """
        base, last = _base(path), self._looks.get(path, (None, ()))[0]
        looks = ((other, *look) for other, look in self._looks.items())
        alike = (its for other, seen, its in looks if seen is last and _base(other) == base)
        born = tuple(chain.from_iterable(alike))
        if last is None or sum(p.bytes for p in own) < MAJORITY * sum(p.bytes for p in born):
            return None
        birth = self._birth(last, born)
        return birth if birth is not None and birth.left else None

    def _of_buffer(self, path: str) -> Birth | None:
        """Return the birth of one object, whose only block was sampled; None for a container."""
        _, born = self._looks.get(path, (None, ()))
        is_one = len(born) == 1 and born[0].samples == 1 and not path.endswith(ELEMENT)
        return Birth(born[0], born[0].phase, None, born[0].device) if is_one else None

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

    def waiting(self, collected: Snapshot) -> float | None:
        """Return the bytes per generation that piled up as garbage until a look collected it.

        None if births do not show that it piled up.
        """
        freed = collected.collection
        birth = self._birth(collected, freed.born) if freed and freed.born else None
        if freed is None or birth is None or birth.trail is None or not birth.left:
            return None
        return (freed.bytes or 0) / birth.trail.lasted

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
        rounds = self._rounds.at(look[0])
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
        fits = (part for part in self._unheld(rate, told, holders) if is_about(part[0], rate))
        return max(fits, key=lambda part: part[0], default=(0.0, None))[1]

    def parts_of_bytes(
        self, rate: float, told: Container[str | None] = (), holders: Iterable[str] = ()
    ) -> list[tuple[float, Birth]]:
        """Return the births of several lines that together leave about ``rate`` bytes.

        Each leaves a quarter of it or more. If no lines do, several functions may. The bytes per
        generation that each leaves come first.

        If a look has told block by block what no holder has, a tenth is enough, and they may leave
        less in all: what memory gained beside them is not theirs.
        """
        apart = tuple(holders)
        by_line = self._unheld(rate, told, apart)
        found = _large(by_line, rate) or _large(
            self._unheld(rate, told, apart, by_function=True), rate
        )
        if found or not self.knows_unheld:
            return found
        most = [part for part in by_line if part[0] >= OWN_SHARE * rate]
        return most if sum(left for left, _ in most) <= rate else []

    @property
    def knows_unheld(self) -> bool:
        """Whether a look has told apart, block by block, what no holder has."""
        return self._last_unheld() is not None

    def _unheld(
        self,
        rate: float,
        told: Container[str | None],
        holders: Iterable[str],
        *,
        by_function: bool = False,
    ) -> list[tuple[float, Birth]]:
        """Return each line that leaves a steady residue, and the bytes that lie in no holder.

        A look that asked for holders has told apart block by block what they have. Without one,
        what a line made for ``holders`` is estimated.
        """
        snapshot = self._last_unheld() or self._last_births()
        if snapshot is None or snapshot.births is None or rate <= 0:
            return []
        held = {} if snapshot.unheld else self._bytes_in(holders)
        grouped = functions_of if by_function else lines_of
        places = snapshot.unheld or snapshot.births.places
        groups = grouped(place for place in places if place.place is not None).values()
        parts = []
        for group in groups:
            its = tuple(p for p in group if p.cohorts and p.place not in told)
            birth = self._birth(snapshot, its) if its else None
            if birth is not None and birth.trail is not None and birth.trail.residue.steady:
                whole = sum(place.bytes for place in its)
                inside = sum(min(held.get(p.place, 0.0), p.bytes) for p in its)
                parts.append((birth.trail.residue.rate * (1 - inside / max(whole, 1.0)), birth))
        return parts

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
        """Return the births of the function whose live total rose by about ``size`` bytes."""
        place = self._totals.risen_by(size, since, told)
        return None if place is None else Birth(place, place.phase, None)

    def rise_of(self, buffer: Holder) -> tuple[Rise, int] | None:
        """Return how a buffer grew in one piece, and since which generation; None if it did not."""
        look = self._looks.get(buffer.path)
        if look is None:
            return None
        alike = (h.born for h in look[0].holders if not h.path.endswith(ELEMENT))
        rise = self._totals.rise_of(look[1], list(chain.from_iterable(alike)))
        return None if rise is None else (rise, self._rounds.generation(rise.began))

    def left_by(self, line: str | None) -> float:
        """Return the bytes that each generation left behind at a line, whoever holds them."""
        snapshot = self._last_births()
        if snapshot is None or snapshot.births is None:
            return 0.0
        places = [p for p in snapshot.births.places if p.place == line and p.cohorts]
        left = residue(places, self._rounds.at(snapshot), self._rounds.taken)
        return left.rate if left is not None and left.steady else 0.0

    def _last_unheld(self) -> Snapshot | None:
        return next((s for s in reversed(self._run.snapshots) if s.births and s.unheld), None)

    def _last_births(self) -> Snapshot | None:
        return next((s for s in reversed(self._run.snapshots) if s.births is not None), None)

    def _birth(self, snapshot: Snapshot, born: tuple[Birthplace, ...]) -> Birth | None:
        rounds = self._rounds.at(snapshot)
        left = residue(born, rounds, self._rounds.taken)
        if left is not None and left.steady and self._turnover.replaces(born, left.since):
            left = replace(left, steady=False)
        kept = [(p, live_since(p, 0 if left is None else left.since)) for p in born]
        place = maker(kept, self._calls)
        phase = phase_of_most(kept, place)
        on_device = any(p.device for p in born)
        if left is None:  # so few samples show something only if they agree
            whole = sum(live.bytes for _, live in kept)
            alike = (live.bytes for p, live in kept if place and frame_of(p) == frame_of(place))
            agree = place is not None and sum(alike) >= NEARLY_ALL * whole
            return Birth(place, phase, None, on_device) if agree else None
        trail = Trail(
            left,
            self._rounds.generation(left.since),
            self._rounds.generation(left.since - left.earlier),
            max(self._rounds.lasted(left.since, rounds), 1),
        )
        return Birth(place, phase, trail, on_device)


def _base(path: str) -> str:
    """Return a container's path, however deep in it the path leads."""
    while path.endswith(ELEMENT):
        path = path.removesuffix(ELEMENT)
    return path
