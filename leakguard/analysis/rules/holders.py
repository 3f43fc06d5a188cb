"""Containers and buffers that grow although no count of a type shows it.

A text or an array that is extended stays one object; the backward graph behind a state that is
never detached has no Python objects at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.advice import advice
from leakguard.analysis.case import Case
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.growing_container import GrowingContainer, growing_containers
from leakguard.analysis.witness import memory_share, memory_witness
from leakguard.model import Cleared, Finding
from leakguard.model.finding import Kind
from leakguard.model.units import format_change

_NOTABLE = 16_384  # bytes a generation; less moves in any process
_KINDS: dict[str, Kind] = {"numpy.ndarray": "arrays", "torch.Tensor": "tensors"}


def holders(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report what grew at every look by a notable size and is not named yet."""
    named = {f.held_by for f in found if isinstance(f, Finding) and f.held_by is not None}
    named |= {c.metric for c in found if isinstance(c, Cleared)}
    return [
        _finding(case, container)
        for container in growing_containers(case)
        if container.retained_rate >= _NOTABLE
        and (container.is_buffer or container.holder.graph_nodes)
        and not container.is_weak
        and not container.is_filling
        and not any(_related(container.holder.path, path) for path in named)
    ]


def _related(path: str, other: str) -> bool:
    return path.startswith(other) or other.startswith(path)


def _finding(case: Case, container: GrowingContainer) -> Finding:
    holder, rate = container.holder, container.retained_rate
    since = _started_at(case, container)
    phase = memory_share(case, since).main_phase()
    shown, second = case.shown(phase), memory_witness(case, phase, since)
    reason = f"{holder.path} grew at each of {holder.streak} looks, by {format_change(rate)}"
    confirmed = f" a generation, and {second} grew with it" if second else " a generation"
    return Finding(
        fingerprint=holder.fingerprint or fingerprint("holder", holder.path),
        kind=_kind(container),
        verdict="leak" if second else "suspect",
        pattern="growing",
        reason=reason + confirmed,
        phase=phase,
        label=shown.label if shown else None,
        serial=shown.serial if shown else None,
        started_at=since,
        type=holder.element,
        bytes_per_generation=rate,
        retained_bytes=holder.retained_bytes,
        held_by=holder.path,
        path=tuple(f"{hop.label}  ({hop.type})" for hop in holder.trace),
        confidence=0.9 if second else 0.6,
        fix=advice(holder.element, holder),
    )


def _started_at(case: Case, container: GrowingContainer) -> int | None:
    """Return when memory began to grow: the looks began later, because of that."""
    memory = case.memory()
    grew = memory is not None and memory.verdict.rate > 0 and memory.verdict.growing != "no"
    if grew and memory is not None and memory.started_at is not None:
        return memory.started_at
    first = next(iter(case.timeline.at(None)), None)
    return first if grew and memory is not None else container.started_at


def _kind(container: GrowingContainer) -> Kind:
    if container.holder.graph_nodes:
        return "autograd"
    return _KINDS.get(container.holder.element, "container")
