"""Settles the ledger of a run: each kind of growth is entered, the most conclusive first.

What explains a growth is decided by ``claims``; what no claim explains has a row of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from leakguard.analysis.afterwards import went_on
from leakguard.analysis.balance import too_little, unexplained
from leakguard.analysis.case import Case, slope
from leakguard.analysis.claims.memory import enter_memory
from leakguard.analysis.claims.metrics import is_explained
from leakguard.analysis.consequence import joined
from leakguard.analysis.device_memory import shared_out
from leakguard.analysis.facts.fix import Remedy
from leakguard.analysis.facts.harmless import Harmless
from leakguard.analysis.growth import Growth
from leakguard.analysis.healthy import ended, filling_container, filling_gauge, held_more
from leakguard.analysis.holders import holder_of_mappings, mapping_behind
from leakguard.analysis.knowledge import is_mapping
from leakguard.analysis.ledger import RunLedger
from leakguard.analysis.live_memory import levelled_off
from leakguard.analysis.objects import object_rows
from leakguard.analysis.row import LedgerRow, line_of, lines_apart, with_birth, with_births
from leakguard.analysis.timeline import LIVE_MEMORY
from leakguard.analysis.tolerance import MAJORITY, NOTABLE_BYTES, SAME_COUNT, notable, same
from leakguard.analysis.trifles import drop_trifles
from leakguard.model.balance import Balance
from leakguard.model.series import Series


def settle(case: Case, growths: Sequence[Growth]) -> RunLedger:
    """Return the ledger of all growths of a run."""
    ledger = RunLedger(case, growths)
    for step in STEPS:
        step(ledger)
    return ledger


def _gauges(ledger: RunLedger) -> None:
    ledger.cleared += map(filling_gauge, ledger.filling)
    ledger.rows += [LedgerRow(growth) for growth in ledger.of("gauge") if not growth.fills]


def _cycles(ledger: RunLedger) -> None:
    for growth in ledger.of("cycles"):
        if growth.healthy is not None:
            cost = Harmless(growth.name, growth.pattern, growth.healthy)
            ledger.cleared.append(replace(cost, bytes_per_generation=growth.bytes_rate))
        else:
            ledger.rows.append(LedgerRow(growth, phase=growth.phase, bytes_rate=growth.bytes_rate))


def _objects(ledger: RunLedger) -> None:
    """Enter what containers gain, and types that none accounts for, without what gauges report."""
    gauges = ledger.gauges()
    containers = [c for c in ledger.of("container") if not _is_gauged(c, gauges)]
    # The largest come first, whatever their source: the order of sources decides nothing.
    containers.sort(key=lambda c: (c.is_weak, -(c.bytes_rate or 0.0), c.name))
    garbage = {name for cycle in ledger.of("cycles") for name in cycle.with_it}
    garbage -= {c.type for c in containers if not c.fills}
    types = [
        growing
        for growing in ledger.of("type")
        if growing.name not in garbage and not _follows_a_gauge(growing, gauges)
    ]
    objects = object_rows(ledger.case, types, containers, [c.metric for c in ledger.cleared])
    ledger.full = objects.filling
    ledger.cleared += map(filling_container, objects.filling)
    for row in (with_birth(ledger.case, found) for found in objects.rows):
        if went_on(ledger.case, row):
            ledger.rows.append(row)
        else:
            ledger.cleared.append(ended(row))


def _consequences(ledger: RunLedger) -> None:
    ledger.rows = joined(ledger.rows)


def _promises(ledger: RunLedger) -> None:
    """Enter each broken promise, unless a row already names the type and its holder.

    The promise names the path of one object, which may lie inside an entry of the holder.
    """
    for growth in ledger.of("promise"):
        held_by = "" if growth.holder is None else growth.holder.path
        alike = (row for row in ledger.rows if row.lead.type == growth.type)
        if not any(held_by.startswith(row.held_by or "") for row in alike):
            ledger.rows.append(LedgerRow(growth))


def _metrics(ledger: RunLedger) -> None:
    """Enter the numbers of the process that no row explains, but live memory."""
    for growth in ledger.of("metric"):
        if growth.healthy is not None:
            ledger.cleared.append(Harmless(growth.name, growth.pattern, growth.healthy))
        elif growth.kind == "gpu":
            filling = [container for container in ledger.of("container") if container.fills]
            ledger.rows = shared_out(ledger.case, ledger.rows, filling, growth)
        elif growth.name not in LIVE_MEMORY and not is_explained(ledger, growth):
            row = LedgerRow(growth, phase=growth.phase, bytes_rate=growth.bytes_rate)
            ledger.rows.append(_mapped(ledger, row) if growth.name == "rss_shared" else row)


def _mapped(ledger: RunLedger, row: LedgerRow) -> LedgerRow:
    """Return a row of shared memory with the holder of the objects that map it.

    It takes the place of their row: their own size is no part of what they map.
    """
    maps = ((known, _mapping_in(known)) for known in ledger.rows)
    known, type_ = next((found for found in maps if found[1] is not None), (None, None))
    if known is not None:
        ledger.rows.remove(known)
    container = holder_of_mappings(ledger.case) if known is None else known.container
    holder = None if container is None else container.holder
    if type_ is None and holder is not None:
        type_ = mapping_behind(holder)
    if type_ is None:
        return row
    lead = replace(row.lead, type=type_, fix=Remedy(type_, holder))
    return replace(row, lead=lead, container=container)


def _mapping_in(row: LedgerRow) -> str | None:
    """Return the type of the mappings that the objects of a row are, or keep; None if none."""
    if is_mapping(row.lead.type):
        return row.lead.type
    holder = None if row.container is None else row.container.holder
    return None if holder is None else mapping_behind(holder)


def _live_memory(ledger: RunLedger) -> None:
    """Enter growth of live memory that nothing explains yet; clear memory that levels off."""
    judged, growth = ledger.case.memory(), ledger.memory
    if growth is not None:
        enter_memory(ledger, growth)
    elif judged is not None and not judged.grows:
        ledger.cleared += levelled_off(judged)


def _rest(ledger: RunLedger) -> None:
    """Enter the unexplained growth of live memory, or clear it as too little.

    A log without counts of objects is left out: it has no sizes that could explain memory.
    """
    case, balance, judged = ledger.case, ledger.balance, ledger.case.memory()
    if balance is None or judged is None or not judged.grows or not case.counts_objects:
        return
    growth = ledger.memory
    if growth is None:
        if balance.rest > MAJORITY * balance.growth:
            ledger.cleared.append(too_little(case, judged, balance.rest))
        return
    last = None if growth.judged is None else growth.judged.series.generations[-1]
    if notable(balance.rest, growth.since, last, NOTABLE_BYTES):
        left = unexplained(case, growth, ledger.rows, _behind_holders(ledger, balance))
        ledger.rows += [] if left is None else [left]


def _behind_holders(ledger: RunLedger, balance: Balance) -> Balance:
    """Add to each holder what its line left in none: memory that C code has for its entries."""
    births = ledger.case.births
    for left, birth in births.parts_of_bytes(balance.rest) if births.knows_unheld else ():
        line = None if birth.place is None else birth.place.place
        row = next((row for row in ledger.rows if row.held_by and line_of(row) == line), None)
        if row is not None:
            ledger.add_to(row, left)
    return ledger.balance or balance


def _warnings(ledger: RunLedger) -> None:
    ledger.rows += [LedgerRow(growth, phase=growth.phase) for growth in ledger.of("peak", "copies")]
    ledger.rows += [
        LedgerRow(growth, bytes_rate=growth.bytes_rate) for growth in ledger.of("child")
    ]


def _rest_of_a_line(ledger: RunLedger) -> None:
    """Add the rest to the row whose line made most: what a look saw of it may be a part.

    What other lines left in none of the holders stays a rest of its own.
    """
    for rest in [row for row in ledger.rows if row.lead.source == "rest"]:
        rate, others = rest.bytes_rate or 0.0, [row for row in ledger.rows if row is not rest]
        apart = math.fsum(left for left, _ in lines_apart(ledger.case, rate, others))
        found = ledger.maker(rate - apart)
        if found is not None:
            ledger.add_to(*found)
            ledger.rows.remove(rest)
            if apart:
                lead = replace(rest.lead, rate=apart, bytes_rate=apart)
                ledger.rows.append(replace(rest, lead=lead, bytes_rate=apart))


def _births(ledger: RunLedger) -> None:
    told = tuple(ledger.rows)
    ledger.rows = [
        known
        for row in told
        for known in ([row] if row.birth else with_births(ledger.case, row, told))
    ]


def _held_more(ledger: RunLedger) -> None:
    ledger.cleared += held_more(ledger.case, ledger.rows, ledger.cleared)


STEPS: tuple[Callable[[RunLedger], None], ...] = (
    _gauges,
    _cycles,
    _objects,
    _consequences,
    _promises,
    _metrics,
    _live_memory,
    _rest,
    _warnings,
    _rest_of_a_line,
    _births,
    drop_trifles,
    _held_more,
)


def _follows_a_gauge(growing: Growth, filling: Sequence[Series]) -> bool:
    """True if a gauge with a capacity rises as fast as the count of an unwatched type."""
    if growing.watched is not None:
        return False
    return any(
        same(slope(g.generations, g.values), growing.rate or 0.0, SAME_COUNT) for g in filling
    )


def _is_gauged(container: Growth, filling: Sequence[Series]) -> bool:
    """True if a gauge had the same value as the container had entries at its last look."""
    if container.judged is None:
        return False
    looks = container.judged.series
    generation, entries = looks.generations[-1], looks.values[-1]
    said = (gauge.by_generation.get(generation, gauge.values[-1]) for gauge in filling)
    return any(same(entries_said, entries, SAME_COUNT) for entries_said in said)
