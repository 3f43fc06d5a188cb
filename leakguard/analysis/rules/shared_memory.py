"""Shared memory that is mapped and never released: segments, tensors handed to workers."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.metric_finding import metric_finding
from leakguard.model import Cleared, Finding
from leakguard.model.units import format_bytes, format_change

_NOTABLE = 65_536  # bytes a generation
_MOST = 0.5  # of the growth in bytes, for other findings to be its explanation


def shared_memory(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report shared pages that grow, where no finding names the objects in front of them."""
    shared = case.metric("rss_shared")
    if shared is None or not shared.grows or shared.verdict.rate < _NOTABLE:
        return []
    named = sum(item.bytes_per_generation or 0.0 for item in found)
    in_front = any(isinstance(item, Finding) and _maps(item.type) for item in found)
    if in_front or named >= _MOST * shared.verdict.rate:
        return []
    return [_finding(case, shared)]


def _maps(type_name: str | None) -> bool:
    return type_name is not None and type_name.rpartition(".")[2] in ("mmap", "SharedMemory")


def _finding(case: Case, shared: Judged) -> Finding:
    low, high = shared.verdict.interval
    files = case.metric("open_files")
    confirmed = files is not None and files.verdict.growing == "yes"
    return metric_finding(
        case,
        shared,
        "rss_shared",
        kind="native",
        name=("shared memory",),
        verdict="leak" if confirmed else "suspect",
        reason=f"shared memory grows by {format_change(shared.verdict.rate)} a generation "
        f"({format_bytes(low)} to {format_bytes(high)})"
        + (", and so does the number of open files" if confirmed else ""),
        type_name="shared memory",
        fix="close() each shared memory segment in every process and unlink() it in one; receive "
        "tensors from workers into buffers that are reused",
    )
