"""The numbers of a run as curves over its generations, thinned without losing an extreme."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from leakguard.model.finding import Finding
from leakguard.model.metric import METRICS, RESOURCES
from leakguard.model.run import Run
from leakguard.model.snapshot import Snapshot
from leakguard.model.units import format_number, format_size
from leakguard.render.sparkline import extremes
from leakguard.render.text import clean, short_type

# Metrics of the memory chart, which has a curve for each.
MEMORY = ("rss", "heap_in_use", "gpu_allocated")
# Metrics of memory that are rarely needed; each has a small chart of its own.
MORE_MEMORY = ("heap_held", "peak", "rss_anonymous", "gpu_reserved", "swap")
GENERATION = "Generation"  # the title of an axis that begins with the start of the run
_PLAIN = 0.2  # share of a curve's highest value; a smaller rise looks flat in a chart
_LARGEST_DRAWN = 1e300  # a gauge may read infinity or NaN, which cannot be drawn
_MOST_POINTS = 400
_MOST_BANDS = 60  # most generations for which the phases are still wide enough to see
_LEAK_METRICS = {"threads": "threads", "files": "open_files", "children": "children",
                 "gpu": "gpu_allocated", "fragmentation": "heap_held", "peak": "peak"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One value at one snapshot; ``text`` is the value as shown to people."""

    x: float
    y: float
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a chart: its title, its unit, and the highest expected value."""

    key: str
    title: str
    points: tuple[CurvePoint, ...]
    ceiling: float | None = None
    in_bytes: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """The interval on the x axis that a phase took, from one snapshot to the next."""

    start: float
    stop: float
    phase: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The position of each snapshot on the x axis, within its generation.

    A generation ends at its own number. The position before the first generation is the start of
    the run. In a run without generations, the positions are the indices of the snapshots.
    """

    title: str
    positions: tuple[float, ...]


Reading = Callable[[Snapshot], float | None]


def axis(run: Run) -> Axis:
    """Return the common x axis of all curves of a run."""
    if not run.generations:
        return Axis("Snapshot", tuple(float(i) for i in range(len(run.snapshots))))
    positions: list[float] = []
    latest = float(run.generations[0] - 1)
    for generation, group in groupby(run.snapshots, key=lambda s: s.generation):
        members = list(group)
        if generation is not None:
            positions += _inside(members, max(latest, generation - 1.0), float(generation))
            latest = max(latest, float(generation))
        else:
            positions += [latest] * len(members)
    return Axis(GENERATION, tuple(positions))


def _inside(members: Sequence[Snapshot], start: float, stop: float) -> Iterator[float]:
    """Yield the positions of one generation's snapshots, evenly spaced up to its end."""
    for place in range(1, len(members) + 1):
        yield start + max(stop - start, 0.0) * place / len(members)


def memory_curves(run: Run, names: Sequence[str] = MEMORY) -> list[Curve]:
    """Return a curve for each kind of memory in the run."""
    curves = [_curve(run, name, METRICS[name].title, _metric(name), True) for name in names
              if name in METRICS]  # fmt: skip
    return [curve for curve in curves if any(point.y for point in curve.points)]


def count_curves(run: Run) -> list[Curve]:
    """Return a curve for each watched type and each gauge, in that order."""
    curves = [
        _curve(run, f"watched:{name}", f"{short_type(name)} alive", _watched(name),
               ceiling=_expected(run, name))
        for name in _names_of_values(run, "watched")
    ]  # fmt: skip
    curves += [
        _curve(
            run,
            f"gauge:{name}",
            clean(name),
            _about(name, Snapshot.gauge),
            ceiling=_capacity(run, name),
        )
        for name in _names_of_values(run, "gauges")
    ]
    return [curve for curve in curves if curve.points]


def resource_curves(run: Run) -> list[Curve]:
    """Return a curve for threads, open files and child processes, if the run has them."""
    curves = [_curve(run, name, METRICS[name].title, _metric(name)) for name in RESOURCES]
    return [curve for curve in curves if curve.points]


def leak_curve(run: Run, finding: Finding) -> Curve | None:
    """Return the growth of a finding over the run: objects, entries, a resource, or memory.

    It is the first suitable number whose rise is visible: twenty more among forty thousand strings
    would look flat. None if no number is known at two moments.
    """
    curves = [_curve(run, *shown) for shown in _shown(finding)]
    known = [c for c in curves if len(c.points) > 1 and any(point.y for point in c.points)]
    plain = (curve for curve in known if _rise(curve) >= _PLAIN)
    return next(plain, max(known, key=_rise, default=None))


def _rise(curve: Curve) -> float:
    """Return the rise of a curve as a share of its highest value."""
    highest = max(point.y for point in curve.points)
    return (highest - curve.points[0].y) / highest if highest > 0 else 0.0


def _shown(finding: Finding) -> Iterator[tuple[str, str, Reading, bool]]:
    """Yield the series that may show a finding, the closest one first."""
    if finding.kind in _LEAK_METRICS:
        name = _LEAK_METRICS[finding.kind]
        yield name, METRICS[name].title, _metric(name), METRICS[name].unit == "bytes"
    if finding.type is not None:
        short = short_type(finding.type)
        if finding.kind == "queue":
            yield "gauge", clean(finding.type), _about(finding.type, Snapshot.gauge), False
        yield "type", f"{short} alive", _about(finding.type, Snapshot.count), False
        yield "bytes", f"Memory of {short} objects", _about(finding.type, Snapshot.size), True
    if finding.held_by is not None:
        yield "entries", f"Entries of {clean(finding.held_by)}", _entries(finding.held_by), False
    if finding.bytes_per_generation:
        for name in ("heap_in_use", "rss"):
            yield name, METRICS[name].title, _metric(name), True


def looks(run: Run) -> tuple[float, ...]:
    """Return the positions of the looks that counted objects by type."""
    places = zip(axis(run).positions, run.snapshots, strict=True)
    return tuple(dict.fromkeys(x for x, snapshot in places if _looked(snapshot)))


def _looked(snapshot: Snapshot) -> bool:
    return snapshot.census is not None and snapshot.census.complete


def bands(run: Run, phase: str | None) -> list[Band]:
    """Return the intervals in which a phase ran; none if they would be too narrow to see.

    A phase that runs several times in a row is one interval.
    """
    if phase is None or len(run.generations) > _MOST_BANDS:
        return []
    found: list[Band] = []
    positions = axis(run).positions
    for start, stop, snapshot in zip(positions, positions[1:], run.snapshots[1:], strict=False):
        if snapshot.phase == phase and stop > start:
            if found and found[-1].stop == start:
                start = found.pop().start
            found.append(Band(start, stop, clean(phase)))
    return found


def start_of(run: Run, generation: int) -> float | None:
    """Return the position on the x axis where a generation begins; None if it has no snapshot."""
    positions = axis(run).positions
    for place, snapshot in enumerate(run.snapshots):
        if snapshot.generation == generation:
            return positions[max(place - 1, 0)]
    return None


def _curve(
    run: Run, key: str, title: str, read: Reading, in_bytes: bool = False,
    ceiling: float | None = None,
) -> Curve:  # fmt: skip
    text: Callable[[float], str] = format_size if in_bytes else format_number
    shown = {snapshot.serial for snapshot in run.while_looping()}
    seen = [
        (x, value, snapshot.label)
        for x, snapshot in zip(axis(run).positions, run.snapshots, strict=True)
        if snapshot.serial in shown
        and (value := read(snapshot)) is not None
        and abs(value) < _LARGEST_DRAWN
    ]
    kept = extremes([value for _, value, _ in seen], _MOST_POINTS)
    points = tuple(
        CurvePoint(x, y, clean(label), text(y)) for x, y, label in (seen[i] for i in kept)
    )
    return Curve(key, title, points, ceiling, in_bytes)


def _metric(name: str) -> Reading:
    return lambda snapshot: snapshot.metrics.get(name)


def _about(name: str, read: Callable[[Snapshot, str], float | None]) -> Reading:
    return lambda snapshot: read(snapshot, name)


def _watched(name: str) -> Reading:
    return lambda snapshot: seen.count if (seen := snapshot.watched.get(name)) else None


def _entries(path: str) -> Reading:
    return lambda snapshot: next((h.entries for h in snapshot.holders if h.path == path), None)


def _names_of_values(run: Run, field: str) -> Iterator[str]:
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
