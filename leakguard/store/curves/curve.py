"""Builds a run from a curve: finds which columns are memory, and makes generations of points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.model.units import UNITS
from leakguard.store.spellings import GPU_IN_NAME, MEMORY_IN_NAME, NO_AMOUNT, UNIT_IN_NAME

# A curve may have many points: a sampler takes ten points per second. A curve with more than
# ``_MOST_POINTS`` points is divided into about ``_GROUPS`` groups of consecutive points, and of
# each group only the lowest point is kept, because low points show the memory that a program keeps.
# Chosen.
_MOST_POINTS, _GROUPS = 2_000, 500

# A process that ends may be sampled a few more times while it frees its memory. If the last sample
# is below the share ``_GIVEN_BACK`` of the highest of the last ``_ENDING`` samples, the samples
# after the highest are left out. Measured: with a sample every 0.25 s, an interpreter with 100 MB
# was sampled twice while it ended. Chosen: three times as many, and half of the highest.
_ENDING, _GIVEN_BACK = 6, 0.5


@dataclass(frozen=True, slots=True)
class Point:
    """One moment of a curve: metrics by name, and its round and its time in seconds if known."""

    metrics: Mapping[str, int | float]
    round: int | None = None
    seconds: float | None = None


def curve_run(
    path: Path, points: Iterable[Point], what: str, command: str | None = None
) -> list[Run]:
    """Return the run of a curve, in which each point or group of points is a round.

    Raises:
        UnreadableRun: there is no point.
    """
    known = list(points)
    if not known:
        raise UnreadableRun(f"{path} is {what} without a single value of memory")
    notes = [f"read from {what}"]
    if all(point.round is not None for point in known):
        kept = list(_last_of_each(known))
    else:
        kept = _thinned(_before_exit(known, notes), notes)
        notes.append("the file names no generation: each sample counts as one")
    started = next((p.seconds for p in known if p.seconds is not None), 0.0) or 0.0
    shots = tuple(_snapshot(n, point, started) for n, point in enumerate(kept))
    info = RunInfo(source="curve", command=command)
    return [Run(info, shots, tuple(notes), finished=True)]


def _last_of_each(points: Iterable[Point]) -> Iterator[Point]:
    """Yield the last point of each round, completed with metrics that only earlier points have."""
    rounds: dict[int, Point] = {}
    for point in points:
        number = point.round or 0
        before = rounds.pop(number, point)
        rounds[number] = Point({**before.metrics, **point.metrics}, number, point.seconds)
    yield from rounds.values()


def _before_exit(points: list[Point], notes: list[str]) -> list[Point]:
    """Leave out the last samples, in which the ending process freed its memory."""
    sizes = [_point_size(point) for point in points[-_ENDING:]]
    after = sizes[::-1].index(max(sizes))
    if len(points) <= 2 * _ENDING or sizes[-1] >= _GIVEN_BACK * max(sizes):
        return points
    notes.append(f"the last {after} samples are left out: the process gave its memory back")
    return points[:-after]


def _thinned(points: Sequence[Point], notes: list[str]) -> list[Point]:
    if len(points) <= _MOST_POINTS:
        return list(points)
    size = -(-len(points) // _GROUPS)
    notes.append(f"of {size} samples the lowest is kept: what stays allocated shows there")
    groups = (points[first : first + size] for first in range(0, len(points), size))
    return [min(group, key=_point_size) for group in groups]


def _point_size(point: Point) -> int | float:
    return next((point.metrics[name] for name in ("rss", "gpu_used") if name in point.metrics), 0)


def _snapshot(serial: int, point: Point, started: float) -> Snapshot:
    number = serial + 1 if point.round is None else point.round
    label = f"Sample {number}" if point.round is None else f"Step {number}"
    seconds = None if point.seconds is None else point.seconds - started
    return Snapshot(serial, label, "generation", None, number, seconds, dict(point.metrics))


def memory_names(names: Iterable[str]) -> dict[str, str]:
    """Return the metric of each name that is a memory amount, at most one name per metric."""
    usable = [name for name in names if not NO_AMOUNT.search(name)]
    found: dict[str, str] = {}
    for pattern in MEMORY_IN_NAME:
        for name in usable:
            if not GPU_IN_NAME.search(name) and pattern.search(name):
                found.setdefault("rss", name)
    for name in usable:
        if GPU_IN_NAME.search(name) and re.search("alloc|mem", name, re.IGNORECASE):
            found.setdefault("gpu_allocated", name)
    return {name: metric for metric, name in found.items()}


def factor(name: str) -> int:
    """Return the bytes in one unit of a value, by the unit in its name; 1 if there is none."""
    match = UNIT_IN_NAME.search(name.replace("_", " "))
    return UNITS.get(match[1].lower(), 1) if match else 1
