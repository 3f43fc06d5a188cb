"""Containers and buffers that grow although no count of a type shows it.

A text or an array that is extended stays one object; the backward graph behind a state that is
never detached has no Python objects at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.advice import advice
from leakguard.analysis.case import Case
from leakguard.analysis.contribution import type_contribution
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.growing_container import GrowingContainer, growing_containers
from leakguard.analysis.place import place_of
from leakguard.analysis.rules.gauges import filling_gauges, is_gauged
from leakguard.analysis.series import judge_series
from leakguard.analysis.timeline import count_reader
from leakguard.analysis.witness import memory_share, memory_start, memory_witness
from leakguard.model import Cleared, Finding
from leakguard.model.finding import Kind
from leakguard.model.units import format_change

_NOTABLE = 16_384  # bytes a generation that a buffer gains; less moves in any process
_ENTRIES = 1_024  # bytes a generation that proven entries keep alive: they are counted exactly
_LOOKS = 4
_AGREES = 0.8  # of the entries gained, for the count of their type to confirm them
_OWN = "leakguard."
_KINDS: dict[str, Kind] = {"numpy.ndarray": "arrays", "torch.Tensor": "tensors"}


def holders(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report what grew at every look by a notable size and is not named yet."""
    named = {f.held_by for f in found if isinstance(f, Finding) and f.held_by is not None}
    named |= {c.metric for c in found if isinstance(c, Cleared)}
    filling = filling_gauges(case, found)
    return [
        _finding(case, container)
        for container in growing_containers(case)
        if _is_notable(container)
        and not is_gauged(container, filling)
        and not any(_related(container.holder.path, path) for path in named)
    ]


def _is_notable(container: GrowingContainer) -> bool:
    holder = container.holder
    if container.is_weak or container.is_filling or _OWN in holder.path.partition("[*]")[0]:
        return False
    if container.is_buffer or holder.graph_nodes:
        return container.retained_rate >= _NOTABLE
    exact = judge_series(container.entries, integer=True)
    proven = exact.growing == "yes" and len(container.entries) >= _LOOKS
    return proven and container.retained_rate >= _ENTRIES


def _related(path: str, other: str) -> bool:
    return path.startswith(other) or other.startswith(path)


def _second_witness(case: Case, container: GrowingContainer, phase: str | None) -> str | None:
    """Name what grew too: a measure of memory, or the count of the type in the census."""
    grown = _counted(case, container)
    if grown is not None and grown >= _AGREES * (container.entries[-1] - container.entries[0]) > 0:
        return f"the count of {container.holder.element} ({grown:+,})"
    return memory_witness(case, phase, _started_at(case, container))


def _counted(case: Case, container: GrowingContainer) -> int | None:
    """Return by how many the element's type became more over the container's looks."""
    ends = case.timeline.at(None)
    first, last = (ends.get(g) for g in (container.generations[0], container.generations[-1]))
    counts = [None if s is None else s.count(container.holder.element) for s in (first, last)]
    return None if None in counts else (counts[1] or 0) - (counts[0] or 0)


def _finding(case: Case, container: GrowingContainer) -> Finding:
    holder, rate = container.holder, container.retained_rate
    entries = None if container.is_buffer else container.rate
    since = _started_at(case, container)
    phase = _phase(case, container, since)
    second = _second_witness(case, container, phase)
    reason = f"{holder.path} grew at each of {holder.streak} looks, by {format_change(rate)}"
    confirmed = f" a generation, and {second} grew with it" if second else " a generation"
    finding = Finding(
        fingerprint=holder.fingerprint or fingerprint("holder", holder.path),
        kind=_kind(container),
        verdict="leak" if second else "suspect",
        pattern="growing",
        reason=reason + confirmed,
        phase=phase,
        started_at=since,
        type=holder.element,
        count_per_generation=entries,
        bytes_per_generation=rate,
        retained_bytes=holder.retained_bytes,
        held_by=holder.path,
        path=tuple(hop.line for hop in holder.trace),
        confidence=0.9 if second else 0.6,
        fix=advice(holder.element, holder),
    )
    return case.located(finding)


def _phase(case: Case, container: GrowingContainer, since: int | None) -> str | None:
    """Return the phase that adds the entries, by the count of their type; else the memory."""
    if container.is_buffer or container.holder.graph_nodes:
        return memory_share(case, since).main_phase()
    name = container.holder.element
    added = type_contribution(case.run, name, count_reader(name), since)
    phase = added.phase_adding(container.rate) or added.main_phase()
    return phase or memory_share(case, since).main_phase()


def _started_at(case: Case, container: GrowingContainer) -> int | None:
    """Return when it began to grow: the looks began later, because of that."""
    if container.entries[0] < container.entries[-1]:
        return _extrapolated(container, next(iter(case.timeline.at(None)), None))
    since = memory_start(case)
    return container.started_at if since is None else since


def _extrapolated(container: GrowingContainer, first: int | None) -> int | None:
    """Return when entries that grow at this rate were none; they may have been there before."""
    rate, started = container.rate, container.started_at or container.generations[0]
    if first is None or rate <= 0 or started > container.generations[1]:
        return started
    since = container.generations[0] - container.entries[0] / rate + 1
    return max(first, min(started, round(since)))


def _kind(container: GrowingContainer) -> Kind:
    if container.holder.graph_nodes:
        return "autograd"
    place = place_of(container.holder)
    if place is not None and place.kind is not None:
        return place.kind
    return _KINDS.get(container.holder.element, "container")
