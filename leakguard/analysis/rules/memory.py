"""Memory that grows and that no counted object explains."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.limits import MATERIAL_BYTES
from leakguard.model import Cleared, Finding
from leakguard.model.units import format_bytes, format_change

_EXPLAINED = 0.5  # of the growth in bytes, by findings that came before


def memory(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report growth of live memory beyond what other findings explain; clear what levels off."""
    judged = case.memory()
    if judged is None:
        return []
    if not judged.grows:
        return _cleared(judged)
    if _explained(judged, found):
        return []
    filling = [c.metric for c in found if isinstance(c, Cleared) and c.pattern == "filling"]
    if filling:
        return [_while_filling(judged, filling)]
    return [_finding(case, judged)]


def _explained(judged: Judged, found: Sequence[Finding | Cleared]) -> bool:
    findings = [f for f in found if isinstance(f, Finding)]
    explained = sum(f.bytes_per_generation or 0.0 for f in findings)
    return explained >= _EXPLAINED * judged.verdict.rate


def _while_filling(judged: Judged, gauges: list[str]) -> Cleared:
    """A buffer that fills takes memory; what grows beside it shows once the buffer is full."""
    return Cleared(
        judged.series.name,
        "filling",
        f"{judged.series.name} grows by {format_change(judged.verdict.rate)} a generation while "
        f"{' and '.join(gauges)} fills",
    )


def _cleared(judged: Judged) -> list[Finding | Cleared]:
    verdict, series = judged.verdict, judged.series
    rose = max(series.values) - series.values[0]
    if verdict.shape in ("flat", "noise") or verdict.growing != "no" or rose < MATERIAL_BYTES:
        return []
    return [Cleared(series.name, verdict.shape, _why_not(judged, rose))]


def _why_not(judged: Judged, rose: float) -> str:
    verdict, rounds = judged.verdict, len(judged.series)
    name, change = judged.series.name, format_change(rose)
    if verdict.shape == "filling" and verdict.plateau is not None:
        end = format_bytes(verdict.plateau.value)
        return f"{name} fills up to {end}: {change} in {rounds} generations, less each time"
    words = {
        "warm-up": "rose at the start and has settled",
        "step": "rose in a step and has stayed there since",
        "sawtooth": "rises and comes back down",
        "transient": "rose for a while and came back down",
    }
    return f"{name} {words.get(verdict.shape, 'rose and levelled off')}: {change} at the most"


def _finding(case: Case, judged: Judged) -> Finding:
    verdict, series = judged.verdict, judged.series
    since = judged.started_at
    phase = case.contribution(series.name, since).main_phase()
    snapshots = case.timeline.at(phase)
    shown = snapshots[max(snapshots)] if snapshots else None
    rss = case.metric("rss")
    confirmed = series.name == "heap_in_use" and rss is not None and rss.verdict.growing != "no"
    return Finding(
        fingerprint=fingerprint("memory", series.name, phase),
        kind="native" if case.counts_objects else "memory",
        verdict="leak" if confirmed else "suspect",
        pattern="growing",
        reason=f"{series.name} grows by {format_change(verdict.rate)} a generation "
        f"({format_bytes(verdict.interval[0])} to {format_bytes(verdict.interval[1])})"
        + (", and so does RSS" if confirmed else "; no second measurement confirms it"),
        phase=phase,
        label=shown.label if shown else None,
        serial=shown.serial if shown else None,
        started_at=since,
        bytes_per_generation=verdict.rate,
        interval=verdict.interval,
        confidence=verdict.confidence,
        fix="record the run with LeakGuard(out=...) to see which objects grow"
        if not case.counts_objects
        else "no Python object explains it: look at native code and at handles never closed",
    )
