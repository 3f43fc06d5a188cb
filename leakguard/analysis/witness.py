"""Independent evidence: a leak is said only where two measurements of different kinds agree."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.contribution import Contribution
from leakguard.analysis.growing_container import GrowingContainer
from leakguard.analysis.growing_type import GrowingType
from leakguard.model.units import format_number

_COUNTERS = {
    "heap_in_use": "the allocator's bytes in use",
    "python_blocks": "Python's memory blocks",
    "rss_anonymous": "anonymous RSS",
    "rss": "RSS",
}

_NO_BOUND = "has no bound"
_GRAPHS = "its entries keep whole autograd graphs"


def memory_witness(case: Case, phase: str | None, since: int | None) -> str | None:
    """Name a memory measure that grows every generation too, in the same phase; None if none."""
    for metric, title in _COUNTERS.items():
        judged = case.metric(metric)
        if judged is not None and judged.verdict.growing != "no" and judged.verdict.rate > 0:
            share = case.contribution(metric, since)
            if share.total > 0 and share.by_phase.get(phase, 0.0) > 0:
                return title
    return None


def memory_share(case: Case, since: int | None) -> Contribution:
    """Split the growth of the best measure of live memory over the phases."""
    memory = case.memory()
    return Contribution() if memory is None else case.contribution(memory.series.name, since)


def memory_start(case: Case) -> int | None:
    """Return the generation in which live memory began to grow, the first where that is open."""
    memory = case.memory()
    if memory is None or memory.verdict.growing == "no" or memory.verdict.rate <= 0:
        return None
    first = next(iter(memory.series.generations), None)
    return first if memory.started_at is None else memory.started_at


def witnesses(
    case: Case, growing: GrowingType, container: GrowingContainer | None = None
) -> list[str]:
    """Return what agrees that ``growing`` grows without bound, in words."""
    found = [f"the count grows by {format_number(growing.judged.verdict.rate)} a generation"]
    memory = memory_witness(case, growing.phase, growing.judged.started_at)
    if memory is not None:
        found.append(f"{memory} grow{'s' if memory.endswith('RSS') else ''} in the same phase")
    if growing.breaks_expectation and growing.watched and growing.watched.expected:
        low, high = growing.watched.expected
        expected = str(low) if low == high else f"{low} to {high}"
        found.append(f"{expected} expected, {growing.watched.count} alive")
    if container is not None and container.proven:
        entries = f"{format_number(container.rate)} entries"
        why = _why_unbounded(container)
        found.append(f"{container.holder.path} grows by {entries} a generation and {why}")
    return found


def _why_unbounded(container: GrowingContainer) -> str:
    if not container.holder.graph_nodes:
        return _NO_BOUND
    if container.capacity is None:
        return f"{_NO_BOUND}, and {_GRAPHS}"
    return f"{_GRAPHS}, so that its bound does not help"
