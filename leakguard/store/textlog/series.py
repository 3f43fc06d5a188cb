"""Samples of several pods, containers, GPUs or processes: one run for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from leakguard.model import Run
from leakguard.model.units import format_bytes
from leakguard.store.curves.curve import Point, curve_run

# The most series that are followed, the most that are reported, and the most samples of one series
# that are kept. Beyond that, only the lower of two neighbouring samples is kept.
_MOST_SERIES, _REPORTED, _MOST_SAMPLES = 2_000, 16, 16_000
# A series with fewer samples is left out if longer ones exist.
_FEWEST = 3


class Sampled(NamedTuple):
    """What one series is: the tool that prints it, and whose memory it is; ``who`` may be empty."""

    tool: str
    noun: str
    means: str
    metric: str
    who: str

    @property
    def label(self) -> str:
        """The name of the series: ``GPU 0``, ``trainer-7c9d8b6f5-x2lqp``."""
        if self.noun in ("GPU", "machine", "node") or not self.who:
            return f"{self.noun} {self.who}".strip()
        return self.who


@dataclass(slots=True)
class _Taken:
    """The samples of one series so far; each value is the lowest of ``stride`` samples."""

    values: list[int] = field(default_factory=list)
    limit: int | None = None
    step: int = 0
    stride: int = 1
    rest: list[int] = field(default_factory=list)

    def add(self, value: int) -> None:
        """Add the next sample."""
        self.rest.append(value)
        if len(self.rest) < self.stride:
            return
        self.values.append(min(self.rest))
        self.rest.clear()
        if len(self.values) >= _MOST_SAMPLES:
            halves = zip(self.values[::2], self.values[1::2], strict=False)
            self.values = [min(pair) for pair in halves]
            self.stride *= 2


@dataclass(slots=True)
class Samples:
    """The samples from tables, by series."""

    _taken: dict[Sampled, _Taken] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether there are any samples."""
        return bool(self._taken)

    def add(self, series: Sampled, value: int, limit: int | None, step: int) -> None:
        """Add a sample, its upper limit, and the bytes in one unit of its last printed digit."""
        if series not in self._taken and len(self._taken) >= _MOST_SERIES:
            return
        taken = self._taken.setdefault(series, _Taken())
        taken.add(value)
        taken.limit = limit or taken.limit
        taken.step = max(taken.step, step)

    def runs(self, path: Path) -> list[Run]:
        """Return a run for each series; if there are too many, for those with the highest peaks."""
        told = _long(_own(self._taken))
        kept = sorted(told, key=lambda one: max(self._taken[one].values), reverse=True)[:_REPORTED]
        left = len(self._taken) - len(kept)
        notes = [f"{left} series with less memory or few samples were left out"] if left else []
        chosen = [one for one in told if one in kept]
        several = len(chosen) > 1
        return [run for one in chosen for run in _run(path, one, self._taken[one], notes, several)]


def _own(taken: dict[Sampled, _Taken]) -> dict[Sampled, _Taken]:
    """Leave out the machine if the same tool also lists its processes."""
    of_processes = {one.tool for one in taken if one.noun == "process"}
    return {s: t for s, t in taken.items() if s.noun != "machine" or s.tool not in of_processes}


def _long(taken: dict[Sampled, _Taken]) -> list[Sampled]:
    long = [series for series, samples in taken.items() if len(samples.values) >= _FEWEST]
    return long or [series for series, samples in taken.items() if samples.values]


def _run(
    path: Path, series: Sampled, taken: _Taken, notes: Sequence[str], several: bool
) -> Iterator[Run]:
    points = [Point({series.metric: value}) for value in taken.values]
    of = series.label if series.who else f"the {series.noun}"
    for run in curve_run(path, points, f"{series.tool}: {series.means} {of}"):
        info = replace(
            run.info,
            generation_means=f"one sample of {series.tool}",
            memory_limit=taken.limit if series.metric == "rss" else None,
        )
        if several:
            info = replace(info, job=path.name, role=series.label, series_of=series.noun)
        yield replace(run, info=info, notes=(*run.notes, *_steps(taken), *notes))


def _steps(taken: _Taken) -> Iterable[str]:
    if taken.step > 1:
        yield f"memory is printed in steps of {format_bytes(taken.step)}; less is not visible"
    if taken.stride > 1:
        yield f"long log: of {taken.stride} samples the lowest is kept"
