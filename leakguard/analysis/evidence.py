"""Evidence: the instruments that agree on unbounded growth, and how many make a leak."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.facts.measured import (
    ContainerGrows,
    GainedEntries,
    GrewAtLooks,
    MemoryGrew,
    MemoryToo,
    MetricToo,
    NotAsExpected,
)
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.tolerance import WITNESSES_OF_A_LEAK
from leakguard.model import Verdict
from leakguard.model.finding import SEVERITY

# The measures of memory that may confirm growth of objects, the most exact first.
_COUNTERS = ("heap_in_use", "python_blocks", "rss_anonymous", "rss")


def verdict(growth: Growth, evidence: Sequence[Evidence]) -> Verdict:
    """Return the verdict on a growth, given the evidence for it.

    Objects that the kernel or the interpreter counts one by one need no second measurement. The
    verdict is never worse than ``growth.worst``.
    """
    said: Verdict = "leak" if growth.exact or is_confirmed(evidence) else "suspect"
    return min(said, growth.worst, key=SEVERITY.__getitem__)


def is_confirmed(evidence: Sequence[Evidence]) -> bool:
    """Return whether enough instruments agree to make a leak.

    One alone makes a suspect, however often it shows growth.
    """
    return len({one.instrument for one in evidence}) >= WITNESSES_OF_A_LEAK


def witnesses(
    case: Case, lead: Growth, container: Growth | None, phase: str | None, since: int | None
) -> list[Evidence]:
    """Return the evidence that ``lead`` grows without bound."""
    if lead.source == "type":
        return [*_of_type(case, lead, container, phase), *_of_gpu(case, container)]
    if lead.source == "container":
        return [*_of_container(case, lead, phase, since), *_of_gpu(case, lead)]
    if lead.source == "gauge":
        return [*lead.evidence, *_of_live_memory(case)]
    return [*lead.evidence[:1], *_of_second(case, lead.second), *lead.evidence[1:]]


def memory_witness(
    case: Case, phase: str | None, since: int | None, size: float | None = None
) -> str | None:
    """Name a memory measure that also grows in every generation, in the same phase; else None.

    ``size`` is the growth in bytes per generation. A measure whose usual gain is about ``size``
    also counts if it fell in a few generations, because other memory was freed then.
    """
    for metric in _COUNTERS:
        judged = case.metric(metric)
        if judged is not None and judged.may_grow:
            share = case.contribution(metric, since)
            if share.total > 0 and share.by_phase.get(phase, 0.0) > 0:
                return metric
        elif judged is not None and size and _gains_usually(case, judged, phase, since, size):
            return metric
    return None


def _gains_usually(
    case: Case, judged: Judged, phase: str | None, since: int | None, size: float
) -> bool:
    if judged.series.unit != "bytes" or not judged.gains(size):
        return False
    return phase is None or case.contribution(judged.series.name, since).usual.get(phase, 0.0) > 0


def _of_live_memory(case: Case) -> list[Evidence]:
    """Return growth of live memory as evidence, if it grows without bound.

    Neither its phase nor its size is compared.
    """
    memory = case.memory()
    grows = memory is not None and memory.grows
    return [Evidence("memory", "live memory too")] if grows else []


def _of_gpu(case: Case, container: Growth | None) -> list[Evidence]:
    """Return growth of GPU memory as evidence of a container that keeps more there."""
    if container is None or not container.on_devices(container.rate):
        return []
    return _of_second(case, ["gpu_allocated"])


def _of_second(case: Case, metrics: Sequence[str]) -> list[Evidence]:
    """Return the first of these metrics that grows too, as evidence; empty if none does."""
    judged = ((name, case.metric(name)) for name in metrics)
    growing = (name for name, one in judged if one is not None and one.may_grow)
    return [Evidence(name, MetricToo(name)) for name in islice(growing, 1)]


def _of_type(
    case: Case, lead: Growth, container: Growth | None, phase: str | None
) -> list[Evidence]:
    found = list(lead.evidence)
    memory = memory_witness(case, phase, lead.since, lead.bytes_rate)
    if memory is not None:
        found.append(Evidence("memory", MemoryToo(memory, in_phase=phase is not None)))
    if lead.breaks_expectation and lead.watched and lead.watched.expected:
        found.append(Evidence("user", NotAsExpected(lead.watched.expected, lead.watched.count)))
    if container is not None and container.proven:
        unbounded = ContainerGrows(
            container.name,
            container.rate or 0.0,
            keeps_graphs=container.keeps_graphs,
            is_bounded=container.bound is not None,
        )
        found.append(Evidence("holders", unbounded))
    return found


def _of_container(
    case: Case, container: Growth, phase: str | None, since: int | None
) -> list[Evidence]:
    found = [next(iter(container.evidence), None) or _grew_at_looks(container)]
    memory = memory_witness(case, phase, since)
    return found if memory is None else [*found, Evidence("memory", MemoryGrew(memory))]


def _grew_at_looks(container: Growth) -> Evidence:
    streak = container.holder.streak if container.holder is not None else 0
    if not streak:
        return Evidence("holders", GainedEntries(container.name, container.rate or 0.0))
    grew = GrewAtLooks(container.name, streak, container.bytes_rate or 0.0)
    return Evidence("holders", grew)
