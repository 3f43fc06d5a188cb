"""Objects of a type that become more every generation."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.advice import advice
from leakguard.analysis.case import Case
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.growing_type import GrowingType, by_phase, growing_types
from leakguard.analysis.witness import witnesses
from leakguard.model import Cleared, Finding, Snapshot
from leakguard.model.finding import Kind

_KINDS: dict[str, Kind] = {"torch.Tensor": "tensors", "numpy.ndarray": "arrays"}


def instances(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report the growing types of each phase as one defect, named after its most telling type."""
    groups = by_phase(growing_types(case))
    return [_finding(case, phase, group) for phase, group in groups.items()]


def _finding(case: Case, phase: str | None, group: list[GrowingType]) -> Finding:
    lead = group[0]
    verdict, series = lead.judged.verdict, lead.judged.series
    evidence = witnesses(case, lead)
    shown = _latest(case, phase)
    companions = [growing.name for growing in group[1:4]]
    return Finding(
        fingerprint=fingerprint("instances", lead.name, phase),
        kind=_KINDS.get(lead.name, "instances"),
        verdict="leak" if len(evidence) >= 2 else "suspect",
        pattern="growing",
        phase=phase,
        label=shown.label if shown else None,
        serial=shown.serial if shown else None,
        started_at=lead.judged.started_at,
        type=lead.name,
        counts=_counts(case, lead, phase),
        count_per_generation=verdict.rate,
        bytes_per_generation=_bytes_rate(case, group, phase),
        interval=verdict.interval,
        confidence=verdict.confidence,
        reason="; ".join(evidence) + (f"; with it {', '.join(companions)}" if companions else ""),
        fix=advice(lead.name),
        ruled_out=(f"{series.name} is not filling up or warming up: {verdict.reason}",),
    )


def _counts(case: Case, lead: GrowingType, phase: str | None) -> tuple[int, ...]:
    """Return the count at the baseline and at the end of the phase in each generation."""
    from leakguard.analysis.timeline import count_reader

    series = case.timeline.series(lead.name, count_reader(lead.name), phase)
    if not series.values:
        series = lead.judged.series
    first = () if series.baseline is None else (int(series.baseline),)
    return (*first, *map(int, series.values))


def _bytes_rate(case: Case, group: list[GrowingType], phase: str | None) -> float | None:
    """Return the bytes a generation adds: the census knows them, a text log has RSS only."""
    known = [growing.bytes_rate for growing in group if growing.bytes_rate is not None]
    if known and sum(known) > 0:
        return sum(known)
    share = case.contribution("rss", group[0].judged.started_at).by_phase.get(phase)
    return share if share and share > 0 else None


def _latest(case: Case, phase: str | None) -> Snapshot | None:
    snapshots = case.timeline.at(phase)
    return snapshots[max(snapshots)] if snapshots else None
