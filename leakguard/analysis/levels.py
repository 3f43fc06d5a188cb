"""The levels of a loop: the same run at the ends of its epochs, or of its evaluations, only.

A generation may be a part of an epoch that lasts for hours. What is kept from epoch to epoch, or at
each evaluation, then rises in a few steps among hundreds of generations. At the level where it
happens, every round adds as much.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from leakguard.analysis.birth_rounds import BirthRounds
from leakguard.analysis.timeline import Timeline
from leakguard.analysis.tolerance import FEWEST_LOOKS, MAJORITY, NEARLY_ALL, REPEATED
from leakguard.model import PhaseTotal, Run, Snapshot
from leakguard.model.births import Birthplace, Births, Cohort
from leakguard.model.holder import Holder
from leakguard.model.series import Series
from leakguard.model.snapshot import EVALUATIONS


@dataclass(frozen=True, slots=True)
class OuterRounds:
    """The rounds of one outer level of a run.

    Attributes:
        level: the noun of a round: ``epoch``, ``evaluation``.
        run: the run at the ends of these rounds only; a generation of it is one round.
        first: the first generation of the whole run in each round, by the number of the round.
        parts: how many generations of the whole run a round has on average.
        of_generation: the number of the round in which a generation of the whole run ended.
    """

    level: str
    run: Run
    first: Mapping[int, int]
    parts: float
    of_generation: Mapping[int, int]

    @property
    def is_evaluation(self) -> bool:
        """True if the rounds interrupt the steps, and are not made of them."""
        return self.level in EVALUATIONS.values()

    @property
    def begun(self) -> int:
        """How many rounds of the level had begun by the end of the run."""
        return max(self.first)


def outer_rounds(run: Run) -> tuple[OuterRounds, ...]:
    """Return each level above the generations that had several rounds; evaluations come last."""
    ends = _ends(run)
    names = dict.fromkeys(name for end in ends for name in end.outer)
    found = (_rounds_of(run, ends, name) for name in names)
    return tuple(sorted(filter(None, found), key=lambda rounds: rounds.is_evaluation))


def enclosing(run: Run) -> str | None:
    """Return the noun of the rounds that are made of the generations; None if there are none."""
    names = (name for end in _ends(run) for name in end.outer)
    return next((name for name in names if name not in EVALUATIONS.values()), None)


def begun(run: Run, level: str) -> int:
    """Return how many rounds of a level had begun by the end of a run."""
    return max((end.outer.get(level, 0) for end in run.generation_ends()), default=0)


def whole_series(rounds: OuterRounds, whole: Timeline, name: str) -> Series | None:
    """Return a metric at the ends of the rounds, without the guard's own memory; None if unread.

    The guard's memory is known from the generations between the looks, so the series of the whole
    run is used.
    """
    series = whole.metric(name)
    if series.phase is not None or not series.values:
        return None
    last = {
        rounds.of_generation[generation]: value
        for generation, value in series.by_generation.items()
        if generation in rounds.of_generation
    }
    numbers = tuple(sorted(last))
    return replace(series, generations=numbers, values=tuple(last[n] for n in numbers))


@dataclass(frozen=True, slots=True)
class Gains:
    """What a metric gained in a run, and how much of that where the rounds of a level changed.

    Attributes:
        at_rounds: the gain where each round began or ended; of an evaluation, the gain in it.
        total: the gain from the first of these rounds on.
        share: the share of generations that are counted as the beginning or end of a round.
    """

    at_rounds: tuple[float, ...]
    total: float
    share: float

    @property
    def fraction(self) -> float:
        """The part of the whole gain that came where the rounds changed."""
        return math.fsum(self.at_rounds) / self.total if self.total > 0 else 0.0

    @property
    def step_up(self) -> bool:
        """True if each round adds about as much, and the generations between them next to nothing.

        Two rounds suffice.
        """
        if len(self.at_rounds) < REPEATED or self.fraction < NEARLY_ALL:
            return False
        mean = math.fsum(self.at_rounds) / len(self.at_rounds)
        return min(self.at_rounds) >= MAJORITY * mean


def gains_of_rounds(rounds: OuterRounds, whole: Timeline, metric: str) -> Gains | None:
    """Return what a metric gained where the rounds of a level changed; None if it was not read."""
    series = whole.metric(metric)
    known = [g for g in series.generations if g in rounds.of_generation]
    if series.phase is not None or len(known) < FEWEST_LOOKS:
        return None
    values = series.by_generation
    of = [rounds.of_generation[g] for g in known]
    changed = {i for i in range(1, len(of)) if of[i] != of[i - 1]}
    if rounds.is_evaluation:
        # One that began in a generation that was passed over has no phase in a recorded one.
        changed |= {i for i, g in enumerate(known) if i and _evaluates(whole.ends[g])}
    else:
        # The end of a round may lie in the generation before, with all that happens there.
        changed |= {i - 1 for i in changed if i > 1}
        changed |= {len(of) - 1}
    at: defaultdict[int, float] = defaultdict(float)
    for i in sorted(changed):
        ends_round = not rounds.is_evaluation and i + 1 < len(of) and of[i + 1] != of[i]
        at[of[i] + ends_round] += values[known[i]] - values[known[i - 1]]
    first = min(changed, default=0)
    total = values[known[-1]] - values[known[max(first - 1, 0)]]
    return Gains(tuple(at[k] for k in sorted(at)), total, len(changed) / (len(known) - 1))


def _evaluates(end: Snapshot) -> bool:
    """Return whether an evaluation ran in a generation."""
    return any(is_evaluation(phase) for phase in end.phases)


def is_evaluation(phase: str | None) -> bool:
    """Return whether a phase evaluates a model, perhaps within another phase."""
    return phase is not None and phase.rpartition("/")[2] in EVALUATIONS


def _ends(run: Run) -> list[Snapshot]:
    return [s for s in run.snapshots if s.moment == "generation" and s.generation is not None]


def _rounds_of(run: Run, ends: Sequence[Snapshot], level: str) -> OuterRounds | None:
    of = {end.generation: end.outer.get(level, 0) for end in ends if end.generation is not None}
    numbers = sorted(set(of.values()))
    if len(numbers) < REPEATED or len(of) < FEWEST_LOOKS * len(numbers):
        return None  # the generations themselves show what each of so short rounds adds
    first: dict[int, int] = {}
    for generation, number in sorted(of.items()):
        first.setdefault(number, generation)
    parts = (max(of) - min(of) + 1) / len(numbers)
    births = _Cohorts(run, of, at_end=level not in EVALUATIONS.values())
    return OuterRounds(level, _grouped(run, of, births), first, parts, of)


def _grouped(run: Run, of: Mapping[int, int], births: _Cohorts) -> Run:
    """Return the run with one generation per round; ``of`` gives the round of each generation."""
    groups: defaultdict[int, list[Snapshot]] = defaultdict(list)
    for snapshot in run.snapshots:
        if snapshot.moment == "generation" and snapshot.generation is not None:
            groups[of[snapshot.generation]].append(snapshot)
    last = {id(group[-1]): group for group in groups.values()}
    shots: list[Snapshot] = []
    for snapshot in run.snapshots:
        group = last.get(id(snapshot))
        if group is not None:
            shots.append(births.of_snapshot(_joined(group, of)))
        elif snapshot.moment != "generation":
            number = snapshot.generation
            number = None if number is None else of.get(number, max(of.values()))
            shots.append(births.of_snapshot(replace(snapshot, generation=number)))
    return replace(run, snapshots=tuple(shots), left_out=0)


def _joined(group: Sequence[Snapshot], of: Mapping[int, int]) -> Snapshot:
    """Return several generations as one: the state at its end, and the deepest of its looks."""
    end = group[-1]
    looks = [s for s in group if s.census is not None]
    look = looks[-1] if looks else end
    holders = next((s.holders for s in reversed(group) if s.holders), ())
    return replace(
        end,
        generation=of[end.generation or 0],
        entry=group[0].entry,
        phases=_summed(group),
        census=look.census,
        watched=look.watched,
        holders=holders,
        coverage=look.coverage,
        births=next((s.births for s in reversed(group) if s.births is not None), None),
        expectations=tuple(e for s in group for e in s.expectations),
        proofs=tuple(p for s in group for p in s.proofs),
        sites=tuple(site for s in group for site in s.sites),
        cost=replace(end.cost, seconds=math.fsum(s.cost.seconds for s in group)),
        taken=None,
        passed=None,
    )


def _summed(group: Iterable[Snapshot]) -> dict[str, PhaseTotal]:
    """Return what each phase added in several generations together.

    A generation stands for those that were passed over before it.
    """
    whole: dict[str, PhaseTotal] = {}
    for end in group:
        times = 1 + (end.passed or 0)
        for name, total in end.phases.items():
            before = whole.get(name, PhaseTotal(0, 0.0))
            change = dict(before.change)
            for metric, value in total.change.items():
                change[metric] = change.get(metric, 0) + times * value
            whole[name] = PhaseTotal(
                before.times + times * total.times, before.seconds + times * total.seconds, change
            )
    return whole


class _Cohorts:
    """Counts the births of a run by the rounds of an outer level.

    With ``at_end``, the last generation of a round is counted with the next round. Then what is
    made where an epoch ends is of the same round, whether a generation ends there, too, or not.
    """

    def __init__(self, run: Run, of: Mapping[int, int], *, at_end: bool) -> None:
        known = [of[g] for g in run.generations if g in of]
        self._numbers = {number: i for i, number in enumerate(sorted(set(known)))}
        self._known = [*known[1:], known[-1]] if at_end else known
        self._rounds = BirthRounds(run)

    def of_snapshot(self, snapshot: Snapshot) -> Snapshot:
        births = snapshot.births
        if births is not None:
            births = self._of_births(births)
        if births is None and not any(holder.born for holder in snapshot.holders):
            return snapshot
        holders = tuple(map(self._of_holder, snapshot.holders))
        return replace(snapshot, births=births, holders=holders)

    def _of_births(self, births: Births) -> Births:
        places = tuple(map(self._of_place, births.places))
        return replace(births, places=places, generations=None)

    def _of_holder(self, holder: Holder) -> Holder:
        return replace(holder, born=tuple(map(self._of_place, holder.born)))

    def _of_place(self, place: Birthplace) -> Birthplace:
        merged: dict[tuple[int, int], Cohort] = {}
        for cohort in place.cohorts:
            moved = self._moved(cohort)
            key = (moved.round, moved.rounds)
            merged[key] = _together(merged.get(key), moved)
        return replace(place, cohorts=tuple(merged[key] for key in sorted(merged)))

    def _moved(self, cohort: Cohort) -> Cohort:
        """Return a cohort by outer rounds; where a round changes within it, it is of the later.

        What an evaluation makes is born where its round begins, and what is made where an epoch
        ends is counted with the next epoch.
        """
        if cohort.round < 0:
            return cohort
        first, last = self._at(cohort.round), self._at(cohort.round + cohort.rounds - 1)
        first = last if last == first + 1 else first
        return replace(cohort, round=first, rounds=last - first + 1)

    def _at(self, round_: int) -> int:
        """Return the index of the outer round in which a round of births lies."""
        at = min(self._rounds.index(round_), len(self._known) - 1)
        return self._numbers[self._known[at]]


def _together(one: Cohort | None, other: Cohort) -> Cohort:
    if one is None:
        return other
    error = math.hypot(one.error, other.error)
    return replace(
        one, bytes=one.bytes + other.bytes, error=error, samples=one.samples + other.samples
    )
