"""Judges recorded runs as if ``live.policy`` had chosen their looks: what is each number worth?

A recorded run has its numbers at each generation's end, and more looks than are needed. The policy
is asked anew at each end. The recorded look that is nearest to a planned one stands for it, and all
others are left out.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
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

# A recorded look stands for a planned one if it is no further away than this share of the
# generations so far.
_NEAR = 0.25
# Prices of a run in which no look of a depth was recorded, in seconds.
_USUAL = {Depth.CENSUS: 0.02, Depth.HOLDERS: 0.08}
_BLOCKS = 1_000_000
_SMALLEST_SHARE = 0.01


@dataclass
class _Meter:
    """Says what the guard had spent, and how long the program had run, at a recorded moment."""

    spent: float = 0.0
    program: float = 0.0

    @property
    def program_worked(self) -> float:
        return self.program


@dataclass(frozen=True)
class Replanned:
    """What the policy does in a run.

    Attributes:
        kept: the run without the looks that it would not have taken; None where only counts are
            wanted.
        censuses: how many it would have taken.
        holders: how many of them it would have taken on to the holders.
        seconds: what all of them cost, at the run's own prices.
        share: ``seconds`` as a share of the program's time.
    """

    kept: Run | None
    censuses: int = 0
    holders: int = 0
    seconds: float = 0.0
    share: float = 0.0


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


def replay(runs: Iterable[tuple[Key, Files]]) -> Iterator[tuple[Judged, Replanned]]:
    """Yield what is said of each run with the looks of the policy, as they come ready."""
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("fork").Pool(PROCESSES) as pool,
    ):
        yield from pool.imap_unordered(partial(_replayed, Path(folder)), runs)


def _replayed(folder: Path, told: tuple[Key, Files]) -> tuple[Judged, Replanned]:
    key, files = told
    judged, planned = judged_as_planned(key, load(files, folder))
    return judged, replace(planned, kept=None)  # it is large, and only counts are wanted


def judged_as_planned(key: Key, run: Run) -> tuple[Judged, Replanned]:
    """Return what is said of a run with the looks of the policy."""
    planned = plan(run)
    return judged(key, leakguard.diagnose(planned.kept or run)), planned


def plan(run: Run) -> Replanned:
    """Ask the policy at each generation's end of a run; leave out what it would not have seen."""
    ends = [shot for shot in run.snapshots if shot.moment == "generation"]
    if run.info.max_overhead is None or not ends:
        return Replanned(run)
    replay = _Replay(run, ends)
    for index in range(len(ends)):
        replay.at_end(index)
    return replay.planned()


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
            self.inquiry.note(told, index)
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

    def planned(self) -> Replanned:
        """Return the run without the looks that were not taken, and what the others cost."""
        seconds = sum(self.prices[depth] for depth in self.looks)
        time = max(self.meter.program, _SMALLEST_SHARE)
        censuses = self.looks.count(Depth.CENSUS)
        kept = replace(self.run, snapshots=tuple(self._thinned()))
        holders = self.looks.count(Depth.HOLDERS)
        return Replanned(kept, censuses, holders, seconds, seconds / time)

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


def told(planned: Iterable[Replanned]) -> str:
    """Return the counts of looks in a line."""
    plans = [one for one in planned if one.censuses]
    shares = sorted(one.share for one in plans)
    return (
        f"{sum(p.censuses for p in plans):,} censuses and {sum(p.holders for p in plans):,} looks "
        f"at holders in {len(plans)} runs, which take {median(shares):.1%} of a run in the middle, "
        f"and less than {shares[int(0.9 * len(shares))]:.0%} of nine runs in ten"
    )
