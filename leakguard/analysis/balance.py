"""Splits the growth of live memory, each byte once, into what is explained and the rest.

The rest is a finding of its own, with what is known about it. If it is too little to matter, it is
cleared, and the reason gives its size and how much it adds in a day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.contribution import Contribution
from leakguard.analysis.facts.fix import FindRest, Remedy
from leakguard.analysis.facts.harmless import Harmless, LittleMemory
from leakguard.analysis.facts.measured import (
    Allocators,
    KeepsAsMuch,
    Measured,
    TypesRose,
    Unexplained,
)
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.holders import holder_of_rest
from leakguard.analysis.live_memory import extended
from leakguard.analysis.pace import daily
from leakguard.analysis.row import LedgerRow, born_elsewhere, lines_apart
from leakguard.analysis.tolerance import MAJORITY, PLURALITY, WENT_ON_SHARE
from leakguard.analysis.words import LISTED
from leakguard.model.balance import Balance
from leakguard.model.finding import Kind
from leakguard.model.holder import Holder

# Kinds of growth that are not part of the live memory of this process.
_ELSEWHERE: frozenset[Kind] = frozenset(
    {"gpu", "children", "fragmentation", "peak", "copies", "copy-on-write"}
)
_OUTSIDE_OF_ALLOCATORS = frozenset({"mapped", "address_space", "rss_shared", "private"})


def balance_of(
    case: Case, rows: Iterable[LedgerRow], cleared: Iterable[Harmless]
) -> Balance | None:
    """Return how much of the growth of live memory is explained; None if it does not grow."""
    memory = case.memory()
    if memory is None or not memory.may_grow:
        return None
    growth = memory.verdict.rate
    found, healthy = explained(memory, rows, cleared)
    found = min(found, growth)
    return Balance(growth, found, min(healthy, growth - found), daily(case, growth))


def explained(
    memory: Judged, rows: Iterable[LedgerRow], cleared: Iterable[Harmless]
) -> tuple[float, float]:
    """Return the bytes per generation that rows have, and those that healthy growth has."""
    inside = (row for row in rows if not _explains_nothing(row))
    found = sum(max(row.bytes_rate or 0.0, 0.0) for row in inside)
    return found, sum(_healthy_bytes(item, memory) for item in cleared)


def _healthy_bytes(item: Harmless, memory: Judged) -> float:
    """Return the bytes of growth that an item clears; an item without a size clears all of it."""
    if item.bytes_per_generation is not None:
        return item.bytes_per_generation
    return memory.verdict.rate if item.metric == memory.series.name else 0.0


def _explains_nothing(row: LedgerRow) -> bool:
    return (
        row.lead.source == "rest"
        or row.kind in _ELSEWHERE
        or row.lead.name in _OUTSIDE_OF_ALLOCATORS
    )


def too_little(case: Case, judged: Judged, rest: float) -> Harmless:
    """Clear growth of live memory that is too little to be inspected."""
    name, rate = judged.series.name, judged.verdict.rate
    rounds = judged.series.generations[-1] - (judged.started_at or 0) + 1
    little = LittleMemory(rest, rest * rounds, daily(case, rest))
    return Harmless(name, "growing", little, bytes_per_generation=min(rest, rate))


def is_trifle(item: Harmless, memory: Judged) -> bool:
    """Return whether a cleared item is growth of live memory that was too little to inspect."""
    return item.metric == memory.series.name and item.pattern == "growing"


def unexplained(
    case: Case, growth: Growth, rows: Sequence[LedgerRow], balance: Balance
) -> LedgerRow | None:
    """Return the unexplained rest as a row, if objects became larger by as much.

    Else it is a row if it is a large share, or a smaller one that a line left in none of the
    holders. What is smaller still may be what the walk did not count of them.
    """
    rest = balance.rest
    apart = replace(growth, rate=rest, bytes_rate=rest, interval=None)
    larger = extended(case, apart, {name for row in rows for name in _types_of(row)})
    if larger is not None and larger.holder is not None:
        return LedgerRow(larger, phase=growth.phase, bytes_rate=rest)
    if rest < WENT_ON_SHARE * balance.growth and not case.births.knows_unheld:
        return None
    is_large = rest >= PLURALITY * balance.growth
    if (
        not is_large
        and born_elsewhere(case, rest, rows) is None
        and not lines_apart(case, rest, rows)
    ):
        return None
    phase = _phase_of_rest(case.contribution(growth.name, growth.since), rows, rest)
    holder = holder_of_rest(case, apart, [row.held_by for row in rows if row.held_by])
    if holder is not None:
        return LedgerRow(_rest_in(case, apart, holder), phase=phase, bytes_rate=rest)
    beside = Unexplained(growth.name, balance.growth, balance.findings + balance.healthy)
    found: tuple[Measured | None, ...] = (beside, _where(case), _types_that_rose(case, rows))
    lead = Growth(
        "rest",
        "unexplained growth",
        "memory",
        rate=rest,
        unit="bytes",
        bytes_rate=rest,
        since=growth.since,
        judged=growth.judged,
        worst="suspect",
        evidence=tuple(Evidence(growth.name, one) for one in found if one is not None),
        fix=FindRest(phase),
    )
    return LedgerRow(lead, phase=phase, bytes_rate=rest)


def _rest_in(case: Case, apart: Growth, holder: Holder) -> Growth:
    """Return the rest of live memory as that of a holder, which keeps about as much."""
    birth = case.births.of_holder(holder.path)
    trail = None if birth is None else birth.trail
    kept = Evidence("births", KeepsAsMuch(holder.path, holder.retained_bytes or 0))
    return replace(
        apart,
        kind="memory",
        type=holder.element,
        holder=holder,
        since=apart.since if trail is None else max(apart.since or 0, trail.perhaps),
        in_pools=False,
        evidence=(apart.evidence[0], kept),
        second=(),
        fix=Remedy(holder.element, holder),
    )


def _types_of(row: LedgerRow) -> Iterator[str]:
    """Yield the types that a row tells of, and the type of its container's entries."""
    for growing in (row.lead, *row.beside, *filter(None, (row.container,))):
        yield growing.type or growing.name


def _phase_of_rest(added: Contribution, rows: Iterable[LedgerRow], rest: float) -> str | None:
    """Return the phase that adds most of the rest, once the bytes of findings are subtracted."""
    left = {phase: size for phase, size in added.usual.items() if phase and "/" not in phase}
    for row in rows:
        outer = (row.phase or "").partition("/")[0]
        if outer in left:
            left[outer] -= row.bytes_rate or 0.0
    most = max(left, key=lambda phase: left[phase], default=None)
    return most if most is not None and left[most] >= MAJORITY * rest else None


def _where(case: Case) -> Allocators | None:
    """Return the growth of each allocator per generation; None without growth."""
    parts = tuple(
        (name, judged.verdict.rate)
        for name in ("heap_in_use", "python_in_use")
        if (judged := case.metric(name)) is not None and judged.may_grow
    )
    return Allocators(parts) if parts else None


def _types_that_rose(case: Case, rows: Iterable[LedgerRow]) -> TypesRose | None:
    """Name the types outside the rows that gained most bytes from the first look to the last."""
    looks = case.timeline.counted_since(None)
    if len(looks) < 2:
        return None
    (first, before), *_, (last, after) = looks
    told = {growing.name for d in rows for growing in (d.lead, *d.beside)}
    rose = {
        name: (entry.bytes or 0) - (((known := before.types.get(name)) and known.bytes) or 0)
        for name, entry in after.types.items()
        if name not in told
    }
    most = sorted((n for n in rose if rose[n] > 0), key=lambda name: -rose[name])[:LISTED]
    if not most:
        return None
    return TypesRose(tuple((name, rose[name] / (last - first)) for name in most))
