"""Memory that grows and that no finding explains."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.growing_container import growing_containers
from leakguard.analysis.growing_type import growing_types
from leakguard.analysis.limits import MATERIAL_BYTES
from leakguard.analysis.metric_finding import metric_finding
from leakguard.analysis.place import owns_native_memory
from leakguard.analysis.rules.gauges import filling_gauges, generation_of
from leakguard.model import Cleared, Finding, Snapshot
from leakguard.model.finding import Kind
from leakguard.model.series import Series
from leakguard.model.units import format_bytes, format_change

_MOST = 0.5  # of the growth in bytes, for something to be its explanation
_MUCH = 0.3  # of the growth of objects, for findings of objects to be its explanation
_SAME = 0.02  # of a number, for objects to be made together with the entries of a container
_NOTABLE = 65_536  # bytes a generation; less moves in any process

_NO_SECOND = "; no second measurement confirms it"


def memory(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report growth of live memory beyond what other findings explain; clear what levels off."""
    judged = case.memory()
    if judged is None:
        return []
    if not judged.grows:
        return _cleared(judged)
    if judged.verdict.rate < _NOTABLE or _explained(case, judged, found):
        return []
    in_objects = _objects_rate(case) >= _MOST * judged.verdict.rate
    gauges = filling_gauges(case, found)
    if gauges and (in_objects or judged.series.name != "heap_in_use"):
        return [_while_filling(judged, gauges, found)]
    return [_finding(case, judged, in_objects)]


def _explained(case: Case, judged: Judged, found: Sequence[Finding | Cleared]) -> bool:
    """True where what was found adds up to it or owns native memory, or a log has no bytes."""
    findings = [f for f in found if isinstance(f, Finding)]
    if any(owns_native_memory(finding.held_by or "") for finding in findings):
        return True
    explained = sum(f.bytes_per_generation or 0.0 for f in found)
    objects = _objects_rate(case)
    least = _MOST * judged.verdict.rate
    # Beside the objects an allocator grows a little with each of them: it is the same defect.
    if explained < least and any(_fills(item) for item in found):
        explained += _filled(case)
    if explained >= least or (objects >= least and explained >= _MUCH * objects):
        return True
    phase = case.contribution(judged.series.name, judged.started_at).main_phase()
    return not case.counts_objects and phase in {f.phase for f in findings if f.phase}


def _fills(item: Finding | Cleared) -> bool:
    return isinstance(item, Cleared) and item.pattern == "filling" and item.until is not None


def _filled(case: Case) -> float:
    """Return the bytes of all types that gain as many objects as a container that fills."""
    rates = [c.rate for c in growing_containers(case) if c.is_filling]
    return sum(
        growing.bytes_rate or 0.0
        for growing in growing_types(case)
        if any(abs(growing.judged.verdict.rate - rate) <= _SAME * rate for rate in rates)
    )


def _objects_rate(case: Case) -> float:
    """Return the bytes that counted objects of all types gain each generation."""

    def read(snapshot: Snapshot) -> float | None:
        return None if snapshot.census is None else snapshot.census.bytes

    series = case.timeline.best_series("objects", read, "bytes")
    if len(series) < 2:
        return 0.0
    return (series.values[-1] - series.values[0]) / (series.generations[-1] - series.generations[0])


def _while_filling(
    judged: Judged, gauges: list[Series], found: Sequence[Finding | Cleared]
) -> Cleared:
    """A buffer that fills takes memory; what grows beside it shows once the buffer is full."""
    name, rate = judged.series.name, judged.verdict.rate
    names = {gauge.name for gauge in gauges}
    ends = [item.until for item in found if isinstance(item, Cleared) and item.metric in names]
    grows = f"{name} grows by {format_change(rate)} a generation while {' and '.join(names)} fills"
    full = max((end for end in ends if end is not None), default=None)
    if full is None:
        return Cleared(name, "filling", grows)
    plateau = judged.series.values[-1] + rate * max(full - judged.series.generations[-1], 0)
    reason = f"{grows}: until generation {full}, then {format_bytes(plateau)}"
    return Cleared(name, "filling", reason, plateau, full)


def _cleared(judged: Judged) -> list[Finding | Cleared]:
    verdict, series = judged.verdict, judged.series
    rose = max(series.values) - series.values[0]
    if verdict.shape in ("flat", "noise") or verdict.growing != "no" or rose < MATERIAL_BYTES:
        return []
    plateau = verdict.plateau if verdict.shape == "filling" else None
    until = None if plateau is None or plateau.round is None else plateau.round
    return [
        Cleared(
            series.name,
            verdict.shape,
            _why_not(judged, rose),
            None if plateau is None else plateau.value,
            None if until is None else generation_of(series, until),
        )
    ]


def _why_not(judged: Judged, rose: float) -> str:
    verdict, rounds = judged.verdict, len(judged.series)
    name, change = judged.series.name, format_change(rose)
    if verdict.shape == "filling" and verdict.plateau is not None:
        end, full = format_bytes(verdict.plateau.value), verdict.plateau.round
        so_far = f"{change} in {rounds} generations, less each time"
        if full is None:
            return f"{name} fills up to {end}: {so_far}"
        until = generation_of(judged.series, full)
        return f"{name} fills until generation {until}, then {end}: {so_far}"
    words = {
        "warm-up": "rose at the start and has settled",
        "step": "rose in a step and has stayed there since",
        "sawtooth": "rises and comes back down",
        "transient": "rose for a while and came back down",
    }
    return f"{name} {words.get(verdict.shape, 'rose and levelled off')}: {change} at the most"


def _finding(case: Case, judged: Judged, in_objects: bool) -> Finding:
    name, (low, high) = judged.series.name, judged.verdict.interval
    second = _second_witness(case, name, in_objects)
    return metric_finding(
        case,
        judged,
        name,
        kind=_kind(case, in_objects),
        name=("memory", name),
        verdict="leak" if second else "suspect",
        reason=f"{name} grows by {format_change(judged.verdict.rate)} a generation "
        f"({format_bytes(low)} to {format_bytes(high)})" + (second or _NO_SECOND),
        type_name=_largest_type(case) if in_objects else None,
        fix=_fix(case, in_objects),
    )


def _second_witness(case: Case, metric: str, in_objects: bool) -> str | None:
    if in_objects:
        return ", and so do the bytes of counted objects"
    rss = case.metric("rss")
    if metric == "heap_in_use" and rss is not None and rss.verdict.growing != "no":
        return ", and so does RSS"
    return None


def _kind(case: Case, in_objects: bool) -> Kind:
    return "memory" if in_objects or not case.counts_objects else "native"


def _largest_type(case: Case) -> str | None:
    """Return the type whose bytes grew most, in a few objects that become larger."""
    ends = [s.census for s in case.run.generation_ends() if s.census is not None]
    if len(ends) < 2:
        return None
    grown = {
        name: (entry.bytes or 0) - (before.bytes or 0)
        for name, entry in ends[-1].types.items()
        if (before := ends[0].types.get(name)) is not None
    }
    return max(grown, key=lambda name: grown[name]) if grown else None


def _fix(case: Case, in_objects: bool) -> str:
    if not case.counts_objects:
        return "record the run with LeakGuard(out=...) to see which objects grow"
    if in_objects:
        extended = _largest_type(case) or "object"
        return f"find the {extended} that is extended every generation, and bound it"
    return "no Python object explains it: look at native code and at handles never closed"
