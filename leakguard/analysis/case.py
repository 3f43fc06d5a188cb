"""Everything the rules may ask about one run, worked out once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from leakguard.analysis.contribution import Contribution, metric_contribution
from leakguard.analysis.series import SeriesVerdict, judge_series
from leakguard.analysis.timeline import Timeline
from leakguard.model import Finding, Run, Snapshot
from leakguard.model.series import Series
from leakguard.model.units import format_bytes, format_number

# Bookkeeping of interpreter and guard moves a few kilobytes a generation in any program.
BYTES_FLOOR = 16_384.0

_MEMORY = ("heap_in_use", "rss_anonymous", "rss")


@dataclass(slots=True)
class Judged:
    """A series and what kind of series it is.

    ``with_baseline`` says that the judged values began with the baseline.
    """

    series: Series
    verdict: SeriesVerdict
    with_baseline: bool = False

    @property
    def grows(self) -> bool:
        """True when the growth is established."""
        return self.verdict.growing == "yes"

    @property
    def started_at(self) -> int | None:
        """The first generation whose end shows the growth."""
        generations, index = self.series.generations, self.verdict.started
        if index is None or not generations:
            return None
        if self.with_baseline:
            return generations[max(index - 1, 0)]
        if index <= 1 and self._grew_in_first():
            return generations[0]
        return generations[min(index, len(generations) - 1)]

    def _grew_in_first(self) -> bool:
        baseline, rate = self.series.baseline, self.verdict.rate
        if baseline is None or not self.series.values:
            return False
        return self.series.values[0] - baseline >= 0.5 * rate > 0


@dataclass(slots=True)
class Case:
    """A run under diagnosis."""

    run: Run
    timeline: Timeline = field(init=False)
    _metrics: dict[str, Judged | None] = field(default_factory=dict)
    _shares: dict[tuple[str, int | None], Contribution] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.run)

    @property
    def generations(self) -> int:
        """How many generations the run has."""
        return len(self.run.generations)

    @property
    def counts_objects(self) -> bool:
        """True when the heap was walked, so that live objects are known by type."""
        return any(s.census is not None and s.census.complete for s in self.run.snapshots)

    def metric(self, name: str) -> Judged | None:
        """Return a metric's series with its verdict; None when the run never read it."""
        if name not in self._metrics:
            self._metrics[name] = self._judge(name)
        return self._metrics[name]

    def memory(self) -> Judged | None:
        """Return the best measure of live memory that the run has."""
        return next(filter(None, map(self.metric, _MEMORY)), None)

    def _judge(self, name: str) -> Judged | None:
        series = self.timeline.metric(name)
        if not series.values:
            return None
        floor = BYTES_FLOOR if series.unit == "bytes" else 0.0
        describe = format_bytes if series.unit == "bytes" else format_number
        verdict = judge_series(series.values, noise_floor=floor, describe=describe)
        return Judged(series, verdict)

    def shown(self, phase: str | None) -> Snapshot | None:
        """Return the snapshot that shows a phase best: its latest; None when there is none."""
        snapshots = self.timeline.at(phase)
        return snapshots[max(snapshots)] if snapshots else None

    def located(self, finding: Finding) -> Finding:
        """Return the finding with the snapshot that shows its phase best."""
        shown = self.shown(finding.phase)
        if shown is None:
            return finding
        return replace(finding, label=shown.label, serial=shown.serial)

    def contribution(self, metric: str, since: int | None = None) -> Contribution:
        """Split a metric's growth over the phases."""
        key = (metric, since)
        if key not in self._shares:
            self._shares[key] = metric_contribution(self.run, metric, since)
        return self._shares[key]
