"""Objects of a type that become more every generation, and the container that holds them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakguard.analysis.advice import advice
from leakguard.analysis.case import Case
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.growing_container import GrowingContainer, growing_containers, keeper
from leakguard.analysis.growing_type import GrowingType, by_phase, growing_types
from leakguard.analysis.limits import MATERIAL_BYTES
from leakguard.analysis.place import place_of
from leakguard.analysis.rules.gauges import filling_gauges, is_gauged
from leakguard.analysis.timeline import count_reader
from leakguard.analysis.witness import (
    memory_share,
    memory_start,
    memory_witness,
    witnesses,
)
from leakguard.model import Cleared, Finding
from leakguard.model.finding import Kind
from leakguard.model.series import Series

_KINDS: dict[str, Kind] = {"torch.Tensor": "tensors", "numpy.ndarray": "arrays"}
_RECORDS = frozenset({"tuple", "list", "dict"})
_SAME = 0.02  # of a number, for two of them to count the same thing
_OWN_SHARE = 0.1  # of the bytes of a phase's growth, for a second container to be its own defect
_NEARLY_ALL = 0.8
_NOTABLE = 32_768  # bytes a generation of builtin objects that something must be behind
_MOST = 0.5  # of the bytes of a phase's growth, and no more than their double, in a container


def instances(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report the growing types of each phase, one defect for each container that holds them."""
    filling = filling_gauges(case, found)
    containers = [c for c in growing_containers(case) if not is_gauged(c, filling)]
    types = [g for g in growing_types(case) if not _follows_a_gauge(g, filling)]
    groups = sorted(by_phase(types).items(), key=_weight)
    outcomes: list[Finding | Cleared] = []
    named: set[str] = set()
    for phase, group in groups:
        # What a container holds is one defect, whatever else is made in other phases on the way.
        holding = _holding(group, containers)
        if holding and holding[0].holder.path in named:
            continue
        fresh = [c for c in containers if c.holder.path not in named]
        kept = sum(c.retained_rate for c in containers if c.is_filling or c.holder.path in named)
        if not holding and _is_kept(group, kept):
            continue
        for outcome in _phase_outcomes(case, phase, group, fresh):
            outcomes.append(outcome)
            if isinstance(outcome, Finding) and outcome.held_by is not None:
                named.add(outcome.held_by)
    return outcomes


def _is_kept(group: list[GrowingType], kept: float) -> bool:
    """True for builtin objects that are part of what containers of other findings keep alive."""
    lead = group[0]
    return not (lead.watched or lead.is_users) and _MOST * _known_bytes(group) <= kept


def _follows_a_gauge(growing: GrowingType, filling: list[Series]) -> bool:
    """True when as many objects are added as a gauge with a capacity says, and none is watched."""
    if growing.watched is not None:
        return False
    rate = growing.judged.verdict.rate
    return any(abs(_rate(gauge) - rate) <= _SAME * rate for gauge in filling)


def _rate(series: Series) -> float:
    rounds = max(series.generations[-1] - series.generations[0], 1)
    return (series.values[-1] - series.values[0]) / rounds


def _weight(entry: tuple[str | None, list[GrowingType]]) -> tuple[bool, float]:
    phase, group = entry
    return phase is None, -_known_bytes(group)


def _holding(
    group: list[GrowingType], containers: list[GrowingContainer]
) -> list[GrowingContainer]:
    """Return the unbounded containers whose elements, or graphs, belong to the group."""
    names = _names(group)
    strong = any(growing.is_users or growing.watched for growing in group)
    own = [
        container
        for container in containers
        if (container.holder.element in names or _keeps_graphs(container, names))
        and not (strong and container.is_weak)  # a weak reference holds no object of the program
    ]
    return [c for c in own if not c.is_filling] or _holders_of_most(group, containers)


def _keeps_graphs(container: GrowingContainer, names: set[str]) -> bool:
    """True for a container of tensors' graphs, in a group that gains tensors."""
    return bool(container.holder.graph_nodes) and "torch.Tensor" in names


def _phase_outcomes(
    case: Case,
    phase: str | None,
    group: list[GrowingType],
    containers: list[GrowingContainer],
) -> list[Finding | Cleared]:
    names = _names(group)
    full = [c for c in containers if c.is_filling]
    filling = [c for c in full if c.holder.element in names]
    growing = _holding(group, containers)
    cleared: list[Finding | Cleared] = [_filling(container) for container in filling]
    if growing:
        return cleared + _by_container(case, phase, group, growing)
    rest = [g for g in group if not any(_explains(container, g) for container in full)]
    if rest and _is_telling(case, rest[0]):
        lead = rest[0]
        return [
            *cleared,
            _finding(case, phase, lead, rest, keeper(case, lead.name, lead.judged.verdict.rate)),
        ]
    return cleared


def _explains(container: GrowingContainer, growing: GrowingType) -> bool:
    """True when nearly all that a type gains goes into a container that fills, or with it."""
    rate = growing.judged.verdict.rate
    if container.holder.element == growing.name:
        return rate <= container.rate / _NEARLY_ALL
    return growing.watched is None and _as_many(growing, container)


def _is_telling(case: Case, lead: GrowingType) -> bool:
    """A few more builtin objects, held by nothing that grows, are what interpreters do."""
    size = lead.bytes_rate or 0.0
    if lead.watched is not None or lead.is_users or size >= MATERIAL_BYTES:
        return True
    return size >= _NOTABLE and memory_witness(case, lead.phase, lead.judged.started_at) is not None


def _holders_of_most(
    group: list[GrowingType], containers: list[GrowingContainer]
) -> list[GrowingContainer]:
    """Return the container that keeps the group alive although its elements are of other types.

    What it retains must be about as much as the group weighs: a larger one holds something else.
    """
    known = _known_bytes(group)
    least, most = _MOST * known, known / _MOST
    return [c for c in containers if not c.is_filling and least < c.retained_rate <= most][:1]


def _by_container(
    case: Case, phase: str | None, group: list[GrowingType], growing: list[GrowingContainer]
) -> list[Finding | Cleared]:
    first = _main_holder(growing, group[0])
    least = _OWN_SHARE * max(first.retained_rate, _known_bytes(group))
    own = [
        container
        for container in growing
        if container is not first
        and container.retained_rate >= least
        and container.holder.element in _names(group)
    ]
    taken = {container.holder.element for container in own} - {first.holder.element}
    rest = [g for g in group if g.name not in taken] or group
    lead = _lead(rest, first)
    findings: list[Finding | Cleared] = [_finding(case, phase, lead, rest, first)]
    for container in own:
        other = next(g for g in group if g.name == container.holder.element)
        if other is not lead:
            findings.append(_finding(case, phase, other, [other], container))
    return findings


def _main_holder(growing: list[GrowingContainer], lead: GrowingType) -> GrowingContainer:
    """Return the container of the lead itself, else the one that retains most."""
    return next((c for c in growing if c.holder.element == lead.name), growing[0])


def _lead(group: list[GrowingType], container: GrowingContainer) -> GrowingType:
    """Return the type to name: the program's own class, else what the container holds.

    Of entries that are tuples or dicts, a class of which there is one in each tells more.
    """
    if group[0].watched or group[0].is_users:
        return group[0]
    lead = next((g for g in group if g.name == container.holder.element), group[0])
    inside = (g for g in group if "." in g.name and _as_many(g, container))
    return next(inside, lead) if lead.name in _RECORDS else lead


def _as_many(growing: GrowingType, container: GrowingContainer) -> bool:
    return abs(growing.judged.verdict.rate - container.rate) <= _SAME * container.rate


def _finding(
    case: Case,
    phase: str | None,
    lead: GrowingType,
    group: list[GrowingType],
    container: GrowingContainer | None,
) -> Finding:
    verdict = lead.judged.verdict
    phase = _phase_of(lead, container) or phase or _phase_of_graph(case, lead, container)
    evidence = witnesses(case, lead, container)
    companions = [growing.name for growing in group if growing is not lead][:3]
    holder = container.holder if container else None
    finding = Finding(
        fingerprint=(holder and holder.fingerprint) or fingerprint("instances", lead.name, phase),
        kind=_kind(lead, container),
        verdict="leak" if len(evidence) >= 2 else "suspect",
        pattern="growing",
        phase=phase,
        started_at=_started_at(case, lead, container),
        type=lead.name,
        counts=_counts(case, lead, phase),
        count_per_generation=verdict.rate,
        bytes_per_generation=_bytes_rate(case, group, phase, container),
        interval=verdict.interval,
        retained_bytes=holder.retained_bytes if holder else None,
        held_by=holder.path if holder else None,
        path=tuple(hop.line for hop in holder.trace) if holder else (),
        confidence=verdict.confidence,
        reason="; ".join(evidence) + (f"; with it {', '.join(companions)}" if companions else ""),
        fix=advice(lead.name, holder),
        ruled_out=(f"not filling up and no warm-up: {verdict.reason}",),
    )
    return case.located(finding)


def _phase_of(lead: GrowingType, container: GrowingContainer | None) -> str | None:
    """Return the phase that adds what the container gains.

    A type may grow in several phases for several reasons; the container's own rate tells which.
    """
    if container is None or container.holder.element != lead.name:
        return None
    return lead.contribution.phase_adding(container.rate)


def _phase_of_graph(
    case: Case, lead: GrowingType, container: GrowingContainer | None
) -> str | None:
    """Return the phase that takes the memory: what a backward graph saves is counted later.

    A saved tensor gets its Python object when the guard reads it, between phases.
    """
    if container is None or not container.holder.graph_nodes:
        return None
    return memory_share(case, lead.judged.started_at).main_phase()


def _started_at(case: Case, lead: GrowingType, container: GrowingContainer | None) -> int | None:
    """Return when it began; the tensors of a backward graph are counted from the first look on."""
    began = lead.judged.started_at
    if container is None or not container.holder.graph_nodes:
        return began
    return min((g for g in (began, memory_start(case)) if g is not None), default=None)


def _filling(container: GrowingContainer) -> Cleared:
    name, entries, capacity = container.holder.path, container.entries[-1], container.capacity or 0
    full = _full_at(container, capacity)
    until = "towards its bound" if full is None else f"until generation {full}"
    return Cleared(
        name,
        "filling",
        f"{name} fills {until}: {entries:,} of {capacity:,}",
        plateau=capacity,
        until=full,
        bytes_per_generation=container.retained_rate,
    )


def _full_at(container: GrowingContainer, capacity: int) -> int | None:
    if container.rate <= 0:
        return None
    return container.generations[-1] + math.ceil(
        (capacity - container.entries[-1]) / container.rate
    )


def _kind(lead: GrowingType, container: GrowingContainer | None) -> Kind:
    if container is not None and container.holder.graph_nodes:
        return "autograd"
    place = None if container is None else place_of(container.holder)
    if place is not None and place.kind is not None:
        return place.kind
    if lead.name in _KINDS:
        return _KINDS[lead.name]
    return "instances" if lead.is_users or lead.watched else "container"


def _counts(case: Case, lead: GrowingType, phase: str | None) -> tuple[int, ...]:
    """Return the count at the baseline and at the end of the phase in each generation.

    Where the phase was not counted, it is the count at the end of that generation.
    """
    ends = lead.judged.series
    series = case.timeline.series(lead.name, count_reader(lead.name), phase)
    counts = dict(zip(ends.generations, ends.values, strict=True))
    counts |= zip(series.generations, series.values, strict=True)
    baseline = ends.baseline if series.baseline is None else series.baseline
    first = () if baseline is None else (int(baseline),)
    return (*first, *(int(counts[generation]) for generation in sorted(counts)))


def _names(group: list[GrowingType]) -> set[str]:
    return {growing.name for growing in group}


def _known_bytes(group: list[GrowingType]) -> float:
    return sum(growing.bytes_rate or 0.0 for growing in group)


def _bytes_rate(
    case: Case, group: list[GrowingType], phase: str | None, container: GrowingContainer | None
) -> float | None:
    """Return the bytes a generation adds.

    The census counts the objects themselves, the container what they keep alive: the larger of
    the two is nearer to the whole. A text log has the process's numbers only.
    """
    retained = container.retained_rate if container is not None else 0.0
    known = max(retained, _known_bytes(group))
    if known > 0:
        return known
    shares = (
        case.contribution(metric, group[0].judged.started_at).by_phase.get(phase, 0.0)
        for metric in ("heap_in_use", "rss")
    )
    return next((share for share in shares if share > 0), None)
