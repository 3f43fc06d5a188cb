"""Shared memory that is mapped and never released: segments, tensors handed to workers."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.fingerprint import fingerprint
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
    verdict, since = shared.verdict, shared.started_at
    phase = case.contribution("rss_shared", since).main_phase()
    shown, (low, high) = case.shown(phase), verdict.interval
    files = case.metric("open_files")
    confirmed = files is not None and files.verdict.growing == "yes"
    return Finding(
        fingerprint=fingerprint("shared memory", phase),
        kind="native",
        verdict="leak" if confirmed else "suspect",
        pattern="growing",
        reason=f"shared memory grows by {format_change(verdict.rate)} a generation "
        f"({format_bytes(low)} to {format_bytes(high)})"
        + (", and so does the number of open files" if confirmed else ""),
        phase=phase,
        label=shown.label if shown else None,
        serial=shown.serial if shown else None,
        started_at=since,
        type="shared memory",
        bytes_per_generation=verdict.rate,
        interval=verdict.interval,
        confidence=verdict.confidence,
        fix="close() each shared memory segment in every process and unlink() it in one; receive "
        "tensors from workers into buffers that are reused",
    )
