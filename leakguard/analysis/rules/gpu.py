"""GPU memory that grows every generation."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.metric_finding import metric_finding
from leakguard.model import Cleared, Finding
from leakguard.model.units import format_change

_MOST = 0.5  # of the growth in bytes, for findings of tensors to be its explanation


def gpu(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report growth of allocated GPU memory; what is only reserved is torch's cache, no leak."""
    allocated = case.metric("gpu_allocated")
    if allocated is None or not allocated.grows or _explained(allocated, found):
        return []
    return [_finding(case, allocated)]


def _explained(allocated: Judged, found: Sequence[Finding | Cleared]) -> bool:
    findings = [f for f in found if isinstance(f, Finding) and f.kind in ("tensors", "autograd")]
    explained = sum(f.bytes_per_generation or 0.0 for f in findings)
    return explained >= _MOST * allocated.verdict.rate


def _finding(case: Case, allocated: Judged) -> Finding:
    reserved = case.metric("gpu_reserved")
    confirmed = reserved is not None and reserved.verdict.growing != "no"
    return metric_finding(
        case,
        allocated,
        "gpu_allocated",
        kind="gpu",
        name=("gpu",),
        verdict="leak" if confirmed else "suspect",
        reason=f"allocated GPU memory grows by {format_change(allocated.verdict.rate)} a generation"
        + (", and so does what torch reserves" if confirmed else "; what torch reserves does not"),
        fix="keep numbers, not GPU tensors: item(), detach().cpu(), or drop them each generation",
    )
