"""The numbers of a run as lines over time, thinned without losing an extreme."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from leakguard.model.metric import METRICS
from leakguard.model.run import Run
from leakguard.model.snapshot import Snapshot
from leakguard.model.units import GB, KB, MB, format_number
from leakguard.render.sizes import size
from leakguard.render.sparkline import extremes
from leakguard.render.text import clean, short_type

_MEMORY = ("rss", "heap_in_use", "heap_held", "peak", "rss_anonymous", "gpu_allocated",
           "gpu_reserved", "swap")  # fmt: skip
_SHOWN = {"rss", "heap_in_use", "gpu_allocated"}
_COUNTS = ("threads", "open_files", "children")
_MOST_BANDS = 400


@dataclass(frozen=True, slots=True)
class Point:
    """One value at one snapshot; ``text`` is the value as a person reads it."""

    x: float
    y: float
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A line: what it shows, whether it is shown at first, and up to where it may rise."""

    key: str
    title: str
    points: tuple[Point, ...]
    shown: bool = True
    ceiling: float | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """The stretch from one snapshot to the next that a phase took."""

    start: float
    stop: float
    phase: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Where the snapshots lie from left to right: time where it is known, else their order."""

    title: str
    positions: tuple[float, ...]


Reading = Callable[[Snapshot], float | None]


def axis(run: Run) -> Axis:
    """Return the common x axis of all curves of a run."""
    seconds = [snapshot.seconds for snapshot in run.snapshots]
    known = [s for s in seconds if s is not None]
    if not known or len(known) < len(seconds):
        return Axis("Snapshot", tuple(float(i) for i in range(len(seconds))))
    longest = max(known)
    title, scale = next(
        (t, s) for t, s, least in (("Hours", 3600, 7200), ("Minutes", 60, 300), ("Seconds", 1, 0))
        if longest >= least
    )  # fmt: skip
    return Axis(f"{title} since the start", tuple(s / scale for s in known))


def memory_curves(run: Run, most: int = 1000) -> list[Curve]:
    """Return a curve of at most ``most`` points for each kind of memory that the run knows."""
    curves = []
    at = axis(run).positions
    for name in _MEMORY:
        points = _points(run, at, _metric(name), size, most)
        if any(point.y for point in points):
            curves.append(Curve(name, METRICS[name].title, points, name in _SHOWN))
    return curves


def count_curves(run: Run, most: int = 400) -> list[Curve]:
    """Return a curve for each watched type, gauge and resource, in that order."""
    at = axis(run).positions

    def curve(key: str, title: str, read: Reading, shown: bool, ceiling: float | None) -> Curve:
        return Curve(key, title, _points(run, at, read, format_number, most), shown, ceiling)

    curves = [
        curve(
            f"watched:{name}",
            f"{short_type(name)} alive",
            _watched(name),
            True,
            _expected(run, name),
        )
        for name in _names(run, "watched")
    ]
    curves += [
        curve(f"gauge:{name}", clean(name), _gauge(name), True, _capacity(run, name))
        for name in _names(run, "gauges")
    ]
    curves += [curve(name, METRICS[name].title, _metric(name), False, None) for name in _COUNTS]
    return [curve for curve in curves if curve.points]


def bands(run: Run) -> list[Band]:
    """Return the phases as stretches of the x axis; none where they would be too thin to see."""
    if len(run.snapshots) > _MOST_BANDS:
        return []
    positions = axis(run).positions
    return [
        Band(start, stop, clean(snapshot.phase))
        for start, stop, snapshot in zip(positions, positions[1:], run.snapshots[1:], strict=False)
        if snapshot.phase
    ]


def start_of(run: Run, generation: int) -> float | None:
    """Return where a generation begins on the x axis, None when it has no snapshot."""
    positions = axis(run).positions
    for place, snapshot in enumerate(run.snapshots):
        if snapshot.generation == generation:
            return positions[max(place - 1, 0)]
    return None


def unit(curves: Sequence[Curve]) -> tuple[str, int]:
    """Return the unit that suits the largest value of all curves, and its bytes."""
    largest = max((point.y for curve in curves for point in curve.points), default=0)
    return unit_of(largest)


def unit_of(largest: float) -> tuple[str, int]:
    """Return the unit that suits a size, and its bytes."""
    return next(
        (u, s) for u, s in (("GB", GB), ("MB", MB), ("kB", KB), ("B", 1)) if largest >= s or s == 1
    )


def _points(
    run: Run, positions: Sequence[float], read: Reading, text: Callable[[float], str], most: int
) -> tuple[Point, ...]:
    seen = [
        (x, value, snapshot.label)
        for x, snapshot in zip(positions, run.snapshots, strict=True)
        if (value := read(snapshot)) is not None
    ]
    kept = extremes([value for _, value, _ in seen], most)
    return tuple(Point(x, y, clean(label), text(y)) for x, y, label in (seen[i] for i in kept))


def _metric(name: str) -> Reading:
    return lambda snapshot: snapshot.metrics.get(name)


def _watched(name: str) -> Reading:
    return lambda snapshot: s.count if (s := snapshot.watched.get(name)) else None


def _gauge(name: str) -> Reading:
    return lambda snapshot: g.value if (g := snapshot.gauges.get(name)) else None


def _names(run: Run, field: str) -> Iterator[str]:
    names: dict[str, None] = {}
    for snapshot in run.snapshots:
        names.update(dict.fromkeys(getattr(snapshot, field)))
    return iter(names)


def _expected(run: Run, name: str) -> float | None:
    ranges = (s.watched[name].expected for s in reversed(run.snapshots) if name in s.watched)
    last = next(ranges, None)
    return None if last is None else float(last[1])


def _capacity(run: Run, name: str) -> float | None:
    return next(
        (s.gauges[name].capacity for s in reversed(run.snapshots) if name in s.gauges), None
    )
