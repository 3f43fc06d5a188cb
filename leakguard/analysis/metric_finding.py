"""A number that grows, told as a finding: in which phase, since when, how fast, and how surely."""

from __future__ import annotations

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.fingerprint import fingerprint
from leakguard.model import Finding, Verdict
from leakguard.model.finding import Kind


def metric_finding(
    case: Case,
    judged: Judged,
    metric: str,
    *,
    kind: Kind,
    name: tuple[str, ...],
    verdict: Verdict,
    reason: str,
    fix: str,
    type_name: str | None = None,
    ruled_out: tuple[str, ...] = (),
) -> Finding:
    """Return the finding for a series that grows, in the phase that adds most to ``metric``.

    Args:
        name: what the fingerprint is made of, beside the phase.
        verdict: what the witnesses say, which each rule asks for itself.
    """
    phase, rate = case.contribution(metric, judged.started_at).main_phase(), judged.verdict.rate
    in_bytes = judged.series.unit == "bytes"
    return case.located(
        Finding(
            fingerprint=fingerprint(*name, phase),
            kind=kind,
            verdict=verdict,
            pattern="growing",
            reason=reason,
            phase=phase,
            started_at=judged.started_at,
            type=type_name,
            counts=() if in_bytes else tuple(map(int, judged.series.values)),
            count_per_generation=None if in_bytes else rate,
            bytes_per_generation=rate if in_bytes else None,
            interval=judged.verdict.interval,
            confidence=judged.verdict.confidence,
            fix=fix,
            ruled_out=ruled_out,
        )
    )
