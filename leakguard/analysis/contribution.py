"""Which phase adds how much: growth per generation, split over the phases of the loop.

If the guard measured a phase at both ends, the phase's contribution is exit minus entry. A text log
shows only the ends of phases; the contribution is then the change since the previous snapshot. In
both cases the contributions of the outermost phases, and of the code between them (``None``), sum
to the growth of the generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median

from leakguard.analysis.timeline import Reader
from leakguard.analysis.tolerance import FAR_MORE, MAJORITY, NEARLY_ALL
from leakguard.model import Run, Snapshot
from leakguard.model.metric import METRICS


@dataclass(frozen=True, slots=True)
class Contribution:
    """Growth per generation by phase; ``None`` is code outside of phases.

    Attributes:
        by_phase: the mean over all generations; the phases sum to the whole growth.
        usual: the median over the generations, which a few unusual generations do not affect.
    """

    by_phase: Mapping[str | None, float] = field(default_factory=dict)
    usual: Mapping[str | None, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The growth per generation over all phases."""
        return sum(value for phase, value in self.by_phase.items() if _outermost(phase))

    def main_phase(self) -> str | None:
        """Return the outermost phase that adds most of the growth; None if no phase does.

        If an inner phase adds nearly all of that phase's growth, return the inner phase instead.
        """
        outer = {phase: v for phase, v in self.by_phase.items() if phase and _outermost(phase)}
        total = self.total
        if not outer or total <= 0:
            return None
        phase = max(outer, key=lambda name: outer[name])
        if outer[phase] < MAJORITY * total:
            return None
        return self._innermost(phase)

    def _innermost(self, phase: str) -> str:
        depth = phase.count("/") + 1
        inner = {
            name: value
            for name, value in self.by_phase.items()
            if name and name.startswith(phase + "/") and name.count("/") == depth
        }
        if not inner:
            return phase
        largest = max(inner, key=lambda name: inner[name])
        if inner[largest] < NEARLY_ALL * self.by_phase[phase]:
            return phase
        return self._innermost(largest)


def live_contribution(run: Run, since: int | None = None) -> Contribution:
    """Split the growth of live memory over the phases, from generation ``since`` on.

    The bytes in Python's own allocator are read only at the ends of generations. Within a
    generation only the allocator's blocks are counted, and each block is assumed to have the mean
    size.
    """
    if not any(end.phases for end in _generation_ends(run, since)):
        return metric_contribution(run, "live_memory", since)
    heap = metric_contribution(run, "heap_in_use", since)
    blocks = metric_contribution(run, "python_blocks", since)
    size = _block_size(run)
    return Contribution(
        _sum(heap.by_phase, blocks.by_phase, size), _sum(heap.usual, blocks.usual, size)
    )


def _sum(
    heap: Mapping[str | None, float], blocks: Mapping[str | None, float], size: float
) -> dict[str | None, float]:
    phases = dict.fromkeys((*heap, *blocks))
    return {phase: heap.get(phase, 0.0) + size * blocks.get(phase, 0.0) for phase in phases}


def _block_size(run: Run) -> float:
    """Return the mean bytes of a block in Python's allocator; 0 if unknown."""
    ends = [end.metrics for end in _generation_ends(run, None)]
    sizes = [(end.get("python_in_use"), end.get("python_blocks")) for end in ends]
    return next((size / blocks for size, blocks in reversed(sizes) if size and blocks), 0.0)


def metric_contribution(run: Run, metric: str, since: int | None = None) -> Contribution:
    """Split the growth of a metric over the phases, from generation ``since`` on."""
    read = METRICS[metric].read
    ends = [s for s in _generation_ends(run, since) if s.phases and read(s.entry) is not None]
    # A tracer uses memory until the traced generation ends, so traced generations are left out.
    ends = [end for end in ends if end.cost.slowdown is None] or ends
    if not ends:
        return _mean(_differences(run, lambda snapshot: read(snapshot.metrics), since))
    rounds = []
    for end in ends:
        taken = end.taken or 1
        parts: dict[str | None, float] = {
            phase: (read(total.change) or 0) / taken for phase, total in end.phases.items()
        }
        grown = ((read(end.metrics) or 0) - (read(end.entry) or 0)) / taken
        parts[None] = grown - _outermost_sum(parts)
        rounds.append(parts)
    return _mean(_without_set_up(rounds))


def type_contribution(
    run: Run, type_name: str, read: Reader, since: int | None = None
) -> Contribution:
    """Split the growth of a type's live count over the phases, from generation ``since`` on."""
    return _mean(_type_rounds(run, type_name, read, since))


def made_in(run: Run, type_name: str, read: Reader) -> tuple[str | None, float | None]:
    """Return the phase that makes most of the garbage of a type, and how many per generation.

    Only rises count, because a fall means a garbage collection. A collection during the phase hides
    part of what the phase made, so the median of the rises is used.
    """
    rises: dict[str | None, list[float]] = {}
    for parts in _type_rounds(run, type_name, read):
        for phase, change in parts.items():
            if change > 0:
                rises.setdefault(phase, []).append(change)
    phase = Contribution({phase: sum(made) for phase, made in rises.items()}).main_phase()
    return phase, median(rises[phase]) if phase in rises else None


def _type_rounds(
    run: Run, type_name: str, read: Reader, since: int | None = None
) -> list[dict[str | None, float]]:
    """Return each generation's change of a type's live count, by phase."""
    measured: dict[int, dict[str | None, float]] = {}
    times = {end.generation: end.phases for end in _generation_ends(run, since)}
    previous, counted = None, 0
    for snapshot in run.snapshots:
        number = snapshot.generation
        if number is None or (since is not None and number < since):
            if snapshot.moment != "phase" and (value := read(snapshot)) is not None:
                previous, counted = value, number or 0
            continue
        if snapshot.change is not None and snapshot.phase is not None:
            entry = snapshot.change.get(type_name)
            runs = times.get(number, {}).get(snapshot.phase)
            parts = measured.setdefault(number, {})
            parts[snapshot.phase] = (entry.count if entry else 0) * (runs.times if runs else 1)
        elif snapshot.moment == "generation":
            end = read(snapshot)
            if end is not None:
                if number in measured:
                    taken = snapshot.taken or 1
                    measured[number] = {p: made / taken for p, made in measured[number].items()}
                if previous is not None and number in measured:
                    # If the previous look lies several generations back, divide by their number.
                    grown = (end - previous) / max(number - counted, 1)
                    measured[number][None] = grown - _outermost_sum(measured[number])
                previous, counted = end - _collected(snapshot, type_name), number
    if not measured:
        return _differences(run, read, since, lambda end: _collected(end, type_name))
    return _without_events(list(measured.values()))


def _collected(end: Snapshot, type_name: str) -> int:
    """Return how many objects the guard's own collection freed after a generation was counted."""
    return 0 if end.collection is None else end.collection.types.get(type_name, 0)


def _generation_ends(run: Run, since: int | None) -> list[Snapshot]:
    return [
        snapshot
        for snapshot in run.snapshots
        if snapshot.moment == "generation"
        and snapshot.generation is not None
        and (since is None or snapshot.generation >= since)
    ]


def _differences(
    run: Run, read: Reader, since: int | None, freed: Callable[[Snapshot], float] = lambda _: 0.0
) -> list[dict[str | None, float]]:
    """Attribute each change to the phase at whose end it first shows.

    If generations in between were not read, a change covers several generations and cannot be
    attributed to a phase. Such changes are used only if there are no others. ``freed`` returns what
    the guard itself freed after a snapshot.
    """
    near: dict[int, dict[str | None, float]] = {}
    far: dict[int, dict[str | None, float]] = {}
    previous, known = None, 0
    for snapshot in run.while_looping():
        value = read(snapshot)
        if value is None:
            continue
        number = snapshot.generation
        if number is not None and previous is not None and (since is None or number >= since):
            apart = max(number - known, 1)
            parts = (near if apart == 1 else far).setdefault(number, {})
            change = (value - previous) / apart
            parts[snapshot.phase] = parts.get(snapshot.phase, 0.0) + change
        previous, known = value - freed(snapshot), number or 0
    return list((near or far).values())


def _totals(rounds: list[dict[str | None, float]]) -> list[float]:
    return [abs(parts.get(None, 0.0) + _outermost_sum(parts)) for parts in rounds]


def _without_set_up(rounds: list[dict[str | None, float]]) -> list[dict[str | None, float]]:
    """Leave out the first generation if it added far more than any other: it sets up what stays."""
    first, *others = _totals(rounds)
    return rounds[1:] if others and first > FAR_MORE * max(others) else rounds


def _without_events(rounds: list[dict[str | None, float]]) -> list[dict[str | None, float]]:
    """Leave out generations that added far more than usual, for example by an import.

    If most generations did, none is left out.
    """
    totals = _totals(rounds)
    usual = [
        parts
        for parts, total in zip(rounds, totals, strict=True)
        if total <= FAR_MORE * median(totals)
    ]
    return usual if len(usual) >= MAJORITY * len(rounds) else rounds


def _mean(rounds: list[dict[str | None, float]]) -> Contribution:
    names = dict.fromkeys(phase for parts in rounds for phase in parts)
    changes = {phase: [parts.get(phase, 0.0) for parts in rounds] for phase in names}
    return Contribution(
        {phase: fmean(values) for phase, values in changes.items()},
        {phase: median(values) for phase, values in changes.items()},
    )


def _outermost(phase: str | None) -> bool:
    return phase is None or "/" not in phase


def _outermost_sum(parts: Mapping[str | None, float]) -> float:
    return sum(value for phase, value in parts.items() if phase and _outermost(phase))
