"""Judges recorded runs as if ``live.policy`` had chosen their looks: what is each number worth?

A recorded run has its numbers at each generation's end, and more looks than are needed. The policy
is asked anew at each end. The recorded look that is nearest to a planned one stands for it, and all
others are left out.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeAlias
from unittest import mock

import leakguard
from leakguard.capture.recorder import Observation
from leakguard.live import policy, purse
from leakguard.live.inquiry import Inquiry
from leakguard.live.policy import Depth, LoopSoFar
from leakguard.live.purse import Prices, Purse
from leakguard.model import Holder, Run, Snapshot
from regression_tests.corpus.archive import Files
from regression_tests.corpus.judge import PROCESSES, Judged, judged, load
from regression_tests.corpus.keys import Key
from regression_tests.corpus.table import HEAD as ALL
from regression_tests.corpus.table import sums

# A recorded look stands for a planned one if it is no further away than this share of the
# generations so far.
_NEAR = 0.25
# Prices of a run in which no look of a depth was recorded, in seconds.
_USUAL = {Depth.CENSUS: 0.02, Depth.HOLDERS: 0.08}
_BLOCKS = 1_000_000
# The columns of what was found: of the runs that are open, and of those that are set aside.
SUMS = ("found", "holder", "phase", "start", "line", "accused", "strangers")
# A run lasts at least so many seconds.
_SHORTEST = 0.01


@dataclass
class _Meter:
    """Says what the guard had spent, and how long the program had run, at a recorded moment."""

    spent: float = 0.0
    program: float = 0.0

    @property
    def program_worked(self) -> float:
        return self.program


@dataclass(frozen=True)
class Spent:
    """What the looks of one run cost.

    Attributes:
        censuses: how many looks there were.
        holders: how many of them went on to the holders.
        share: seconds of all of them, at the run's own prices, as a share of the program's time.
    """

    censuses: int = 0
    holders: int = 0
    share: float = 0.0


#: Returns a run without the looks that would not have been taken, and what the others cost.
Planner: TypeAlias = "Callable[[Run], tuple[Run, Spent]]"


@contextmanager
def changed(values: Mapping[str, float]) -> Iterator[None]:
    """Give constants of the policy and of the purse other values.

    Raises:
        KeyError: neither has a constant of that name.
    """
    homes = {name: next((m for m in (policy, purse) if hasattr(m, name)), None) for name in values}
    for name, home in homes.items():
        if home is None:
            raise KeyError(name)
    patches = [mock.patch.object(homes[name], name, value) for name, value in values.items()]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def replay(
    runs: Iterable[tuple[Key, Files]], planner: Planner | None = None
) -> Iterator[tuple[Judged, Spent]]:
    """Yield what is said of each run with the looks of a planner, as they come ready."""
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("fork").Pool(PROCESSES) as pool,
    ):
        yield from pool.imap_unordered(partial(_replayed, Path(folder), planner or plan), runs)


def _replayed(folder: Path, planner: Planner, told: tuple[Key, Files]) -> tuple[Judged, Spent]:
    key, files = told
    kept, spent = planner(load(files, folder))
    return judged(key, leakguard.diagnose(kept)), spent


def plan(run: Run) -> tuple[Run, Spent]:
    """Ask the policy at each generation's end of a run; leave out what it would not have seen."""
    ends = [shot for shot in run.snapshots if shot.moment == "generation"]
    if run.info.max_overhead is None or not ends:
        return run, Spent()
    replay = _Replay(run, ends)
    for index in range(len(ends)):
        replay.at_end(index)
    return replay.kept(), replay.spent()


@dataclass
class _Replay:
    run: Run
    ends: list[Snapshot]
    taken: dict[int, Depth] = field(default_factory=dict)
    looks: list[Depth] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prices = {depth: _price(self.run, depth) for depth in _USUAL}
        self.meter = _Meter()
        known = Prices("compiled", _BLOCKS)
        for depth, price in self.prices.items():
            known.paid(depth, price)
        self.purse = Purse(self.run.info.max_overhead, self.meter, known)  # type: ignore[arg-type]
        self.inquiry, self.loop = Inquiry(), LoopSoFar(self._length())
        self.recorded = [n for n, end in enumerate(self.ends) if end.census is not None]

    def _length(self) -> int | None:
        """Return the number of generations, as far as the run shows that the guard knew it."""
        known = any(end.cost.why == policy.LAST for end in self.ends)
        return len(self.ends) if known else None

    def at_end(self, index: int) -> None:
        """Ask the policy what to do at the end of a generation, and record that it was done."""
        end = self.ends[index]
        self.meter.program = max((end.seconds or 0.0) - (end.cost.total or 0.0), 0.0)
        self.loop.index, grew = index, self.inquiry.grows
        self.loop.passed += end.passed or 0
        self.inquiry.note_numbers(index, end.metrics)
        last = index == len(self.ends) - 1 and self.loop.total is not None
        why = policy.reason_to_look(self.inquiry, self.purse, self.loop, last=last)
        if why is None:
            return
        self._pay(Depth.CENSUS)
        shot = self._nearest(index)
        if shot is not None:
            seen = self.ends[shot]
            told = Observation(dict(seen.metrics), {}, {}, seen.census, dict(seen.watched))
            self.inquiry.note(told, 0, index)
            self.taken[shot] = max(self.taken.get(shot, Depth.CENSUS), Depth.CENSUS)
        asks = policy.asks_for_holders(
            self.inquiry, self.purse, self.loop, why, grew=grew, gained=last
        )
        if asks:
            self._pay(Depth.HOLDERS)
            if shot is not None:
                self.taken[shot] = Depth.HOLDERS
        self.inquiry.looked(index)

    def _pay(self, depth: Depth) -> None:
        self.looks.append(depth)
        with self.purse.charged(depth):
            self.meter.spent += self.prices[depth]

    def _nearest(self, index: int) -> int | None:
        near = [n for n in self.recorded if abs(n - index) <= _NEAR * (index + 1)]
        return min(near, key=lambda n: abs(n - index), default=None)

    def kept(self) -> Run:
        """Return the run without the looks that were not taken."""
        return replace(self.run, snapshots=tuple(self._thinned()))

    def spent(self) -> Spent:
        """Return what the looks cost."""
        seconds = sum(self.prices[depth] for depth in self.looks)
        counts = (self.looks.count(depth) for depth in (Depth.CENSUS, Depth.HOLDERS))
        return Spent(*counts, seconds / max(self.meter.program, _SHORTEST))

    def _thinned(self) -> Iterator[Snapshot]:
        numbers = {id(end): number for number, end in enumerate(self.ends)}
        before: dict[str, Holder] = {}
        for shot in self.run.snapshots:
            number = numbers.get(id(shot))
            if shot.moment == "phase" or (number is not None and number not in self.taken):
                yield _without_look(shot)
                continue
            keeps = number is None or self.taken[number] is Depth.HOLDERS
            holders = tuple(_since(before, holder) for holder in shot.holders) if keeps else ()
            before |= {holder.path: holder for holder in holders}
            yield replace(shot, holders=holders)


def _price(run: Run, depth: Depth) -> float:
    """Return what a look at a depth cost beyond the depth before, in the middle."""
    costs = {
        tier: [s.cost.seconds for s in run.snapshots if s.cost.tier == tier] for tier in range(3)
    }
    found, below = costs[depth], costs[depth - 1]
    if not found:
        return _USUAL[depth]
    return max(median(found) - (median(below) if below else 0.0), 1e-3)


def _without_look(shot: Snapshot) -> Snapshot:
    cost = replace(shot.cost, tier=0, why=None)
    return replace(shot, census=None, change=None, holders=(), coverage=None, cost=cost)


def _since(before: Mapping[str, Holder], holder: Holder) -> Holder:
    """Return a holder as it looks beside the look that is now the one before."""
    earlier = before.get(holder.path)
    if earlier is None:
        return replace(holder, streak=min(holder.streak, 0 if holder.before is None else 1))
    streak = earlier.streak + 1 if holder.entries > earlier.entries else 0
    return replace(holder, before=earlier.entries, streak=streak)


LEGEND = """
Each recorded run is judged with the looks that it had, and with those that `live.policy` would have
taken, also with another value of one of its numbers. **Share**: what the looks take of the
program's time, at the run's own prices, in the run in the middle; runs were played beside others.
The rest counts as `table.md` does, of the runs that are open and of those that are set aside. A
planned look where no look was recorded nearby is lost, so that less is found than in a real run.
"""
HEAD = ("looks of", "censuses", "holders", "share", "nine in ten below", *SUMS)


def row(name: str, replayed: Iterable[tuple[Judged, Spent]]) -> tuple[str, ...]:
    """Return how many looks were taken in all runs, at which share of a run, and what was found."""
    answers = list(replayed)
    costs = [spent for _, spent in answers]
    shares = sorted(spent.share for spent in costs)
    all_and_aside = list(sums(judged for judged, _ in answers))[-2:]
    found = dict(zip(ALL, zip(*all_and_aside, strict=True), strict=True))
    return (
        name,
        f"{sum(spent.censuses for spent in costs):,}",
        f"{sum(spent.holders for spent in costs):,}",
        f"{median(shares):.1%}",
        f"{shares[int(0.9 * len(shares))]:.0%}",
        *(", ".join(found[column]) for column in SUMS),
    )


def as_recorded(run: Run) -> tuple[Run, Spent]:
    """Return a run with all of its own looks, and what they cost."""
    ends = [shot for shot in run.snapshots if shot.moment == "generation"]
    if run.info.max_overhead is None or not ends:
        return run, Spent()
    replay = _Replay(run, ends)
    replay.meter.program = max((ends[-1].seconds or 0.0) - (ends[-1].cost.total or 0.0), 0.0)
    for end in ends:
        replay.looks += [d for d in (Depth.CENSUS, Depth.HOLDERS) if d <= end.cost.tier]
    return run, replay.spent()
