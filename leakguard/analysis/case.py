"""The run under diagnosis; each of its numbers is judged once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from leakguard.analysis.birthplace import RunBirths
from leakguard.analysis.contribution import (
    Contribution,
    live_contribution,
    metric_contribution,
    type_contribution,
)
from leakguard.analysis.held import Look, first_seen, looks_at_holders
from leakguard.analysis.levels import OuterRounds
from leakguard.analysis.series import SeriesVerdict, judge_series
from leakguard.analysis.timeline import GPU_MEMORY, LIVE_MEMORY, Timeline, count_reader
from leakguard.analysis.tolerance import BYTES_FLOOR, FEWEST_LOOKS, MAJORITY, WENT_ON_SHARE
from leakguard.model import Run, Snapshot
from leakguard.model.series import Series


@dataclass(slots=True)
class Judged:
    """A series with its verdict.

    ``with_baseline`` is True if the judged values begin with the baseline. ``first`` is the
    earliest generation in which growth may have begun, with or without a look; None if unknown.
    """

    series: Series
    verdict: SeriesVerdict
    with_baseline: bool = False
    first: int | None = None

    @property
    def grows(self) -> bool:
        """True when the growth is established."""
        return self.verdict.growing == "yes"

    @property
    def may_grow(self) -> bool:
        """True when the series rises and no healthy explanation is established."""
        return self.verdict.growing != "no" and self.verdict.rate > 0

    @property
    def started_at(self) -> int | None:
        """The first generation whose end shows the growth."""
        generations, started = self.series.generations, self.verdict.started
        if started is None or not generations:
            return None
        if started <= generations[min(1, len(generations) - 1)] and self._grew_in_first():
            return self._start_before_looks()
        return max(started, min(generations[0], self.first or generations[0]))

    def gains(self, size: float) -> bool:
        """Return whether the median gain per generation in the last third is about ``size``.

        The median ignores a few generations that freed memory or took much memory once. In a run
        of fewer than nine generations the last third is too short, and the last three gains are
        used.
        """
        values, at = self.series.values, self.series.generations
        late = range(len(values) - max(len(values) // 3, FEWEST_LOOKS), len(values))
        if late.start < 1:
            return False
        usual = median((values[i] - values[i - 1]) / (at[i] - at[i - 1]) for i in late)
        return WENT_ON_SHARE * size <= usual <= size / MAJORITY

    def _grew_in_first(self) -> bool:
        """True if the first value exceeds the baseline by at least half a generation's growth."""
        baseline, rate = self.series.baseline, self.verdict.rate
        if baseline is None or not self.series.values:
            return False
        return self.series.values[0] - baseline >= MAJORITY * rate > 0

    def _start_before_looks(self) -> int:
        """Extrapolate the start backwards from the first look, at the rate of the later looks.

        If the first look found more than that rate explains, there was a warm-up as well. The start
        is then unknown, and the generation of the first look is returned.
        """
        looked = self.series.generations[0]
        gained = self.series.values[0] - (self.series.baseline or 0.0)
        paces = max(round(gained / self.verdict.rate), 1)
        began = looked - paces + 1
        return looked if began < (self.first or looked) else began


@dataclass(slots=True)
class Case:
    """A run under diagnosis; if ``outer`` is set, a run at the ends of its outer rounds.

    ``whole`` is the run as it was recorded, if ``run`` is a selection of its generations. Births
    are counted by the rounds that were recorded. ``held`` are the looks at who holds what;
    ``first_held`` has the generation and the number of entries of the first look at each container.
    """

    run: Run
    outer: OuterRounds | None = None
    whole: Run | None = field(default=None, kw_only=True)
    timeline: Timeline = field(init=False)
    held: list[Look] = field(init=False)
    first_held: dict[str, tuple[int, int]] = field(init=False)
    births: RunBirths = field(init=False)
    _metrics: dict[str, Judged | None] = field(default_factory=dict)
    _verdicts: dict[tuple[object, ...], SeriesVerdict] = field(default_factory=dict)
    _shares: dict[tuple[str, int | None], Contribution] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.run)
        self.held = looks_at_holders(self.timeline)
        self.first_held = first_seen(self.held)
        self.births = RunBirths(self.whole or self.run)

    @property
    def generations(self) -> int:
        """How many generations the run had, those left out included."""
        return self.run.generations_until(None)

    @property
    def counts_objects(self) -> bool:
        """True if the heap was walked, so that live objects are known by type."""
        taken = (s.census for s in self.run.snapshots if s.census is not None)
        # A guard's log lists only the types that changed, but records the bytes of all types.
        return any(census.complete or census.bytes is not None for census in taken)

    @property
    def counts_allocators(self) -> bool:
        """True if live memory comes from the allocators, and not from RSS."""
        memory = self.memory()
        return memory is not None and memory.series.name in LIVE_MEMORY[:2]

    def metric(self, name: str) -> Judged | None:
        """Return a metric's series with its verdict; None if the run never read it."""
        if name not in self._metrics:
            self._metrics[name] = self._judge_metric(name)
        return self._metrics[name]

    def memory(self) -> Judged | None:
        """Return the run's best metric of live memory, judged; a GPU's if there is no other."""
        return next(filter(None, map(self.metric, (*LIVE_MEMORY, GPU_MEMORY))), None)

    def judge(
        self,
        series: Series,
        *,
        integer: bool = False,
        noise_floor: float = 0.0,
        capacity: float | None = None,
        from_baseline: bool = False,
    ) -> Judged:
        """Judge a series at the generations in which it was read.

        ``from_baseline`` treats the baseline as a generation: the user marked the baseline, so no
        warm-up follows.
        """
        values, at = series.values, series.generations
        with_baseline = from_baseline and series.baseline is not None
        if with_baseline and series.baseline is not None and at:
            values, at = (series.baseline, *values), (at[0] - 1, *at)
        # Several questions are about the same numbers, which are judged for the first one only.
        asked = (values, at, integer, noise_floor, capacity)
        verdict = self._verdicts.get(asked)
        if verdict is None:
            verdict = self._verdicts[asked] = judge_series(
                values, at=at, integer=integer, noise_floor=noise_floor, capacity=capacity
            )
        return Judged(series, verdict, with_baseline, self.timeline.first)

    def _judge_metric(self, name: str) -> Judged | None:
        series = self.timeline.metric(name)
        if not series.values:
            return None
        return self.judge(series, noise_floor=BYTES_FLOOR if series.unit == "bytes" else 0.0)

    def shown(self, phase: str | None) -> Snapshot | None:
        """Return the snapshot that shows a phase best: its latest; None without one."""
        snapshots = self.timeline.at(phase)
        return snapshots[max(snapshots)] if snapshots else None

    def contribution(self, metric: str, since: int | None = None) -> Contribution:
        """Split a metric's growth over the phases."""
        key = (metric, since)
        if key not in self._shares:
            self._shares[key] = self._split(metric, since)
        return self._shares[key]

    def _split(self, metric: str, since: int | None) -> Contribution:
        if metric == "live_memory":
            return live_contribution(self.run, since)
        # The metric ``mapped`` is anonymous RSS minus the memory of the allocators. Both are large,
        # so their small difference is imprecise within a phase. Anonymous RSS is split instead.
        return metric_contribution(
            self.run, "rss_anonymous" if metric == "mapped" else metric, since
        )

    def type_share(self, type_name: str, since: int | None = None) -> Contribution:
        """Split the growth of a type's live count over the phases."""
        return type_contribution(self.run, type_name, count_reader(type_name), since)

    def memory_share(self, since: int | None = None) -> Contribution:
        """Split the growth of live memory over the phases."""
        memory = self.memory()
        return Contribution() if memory is None else self.contribution(memory.series.name, since)


def slope(at: Sequence[int], values: Sequence[float]) -> float:
    """Return the mean change per generation from the first value to the last."""
    return (values[-1] - values[0]) / max(at[-1] - at[0], 1) if len(at) > 1 else 0.0
