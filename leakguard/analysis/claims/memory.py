"""What explains the growth of live memory that no row of objects has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from leakguard.analysis.behind import in_front_of, with_memory_behind
from leakguard.analysis.claims import Claim, strongest
from leakguard.analysis.entries import as_many
from leakguard.analysis.facts.harmless import Harmless, WhileFilling
from leakguard.analysis.growth import Growth
from leakguard.analysis.ledger import RunLedger
from leakguard.analysis.live_memory import extended, filling_cache, in_a_graph, objects_rate
from leakguard.analysis.row import LedgerRow, born_elsewhere
from leakguard.analysis.tolerance import MAJORITY, NOTABLE_BYTES

#: What is entered in the ledger if a claim decides.
Entry = Callable[[], None]


class MemoryAsked:
    """Growth of live memory, in a ledger with the rows of all objects and metrics.

    Attributes:
        ledger: the ledger.
        growth: the growth of live memory.
    """

    def __init__(self, ledger: RunLedger, growth: Growth) -> None:
        self.ledger = ledger
        self.growth = growth

    @property
    def rate(self) -> float:
        """Bytes per generation."""
        return self.growth.rate or 0.0

    @cached_property
    def rest(self) -> float:
        """Bytes per generation that nothing explains so far."""
        return max(self.rate - self.ledger.named_bytes(), 0.0)

    @cached_property
    def in_objects(self) -> bool:
        """Whether counted objects gain most of it."""
        return objects_rate(self.ledger.case) >= MAJORITY * self.rate

    @cached_property
    def made(self) -> Growth:
        """The growth with its kind: a graph, larger objects, or native."""
        case = self.ledger.case
        if not case.counts_objects:
            return replace(self.growth, kind="memory", in_pools=False)
        larger = extended(case, self.growth) if self.in_objects else None
        return in_a_graph(case, self.growth) or larger or self.growth


def enter_memory(ledger: RunLedger, growth: Growth) -> None:
    """Enter growth of live memory by the strongest claim to it, or as a row of its own."""
    asked = MemoryAsked(ledger, growth)
    entry = strongest(CLAIMS, asked)
    if entry is not None:
        entry()
    else:
        ledger.rows.append(LedgerRow(asked.made, phase=growth.phase, bytes_rate=asked.rest))


def _told(asked: MemoryAsked) -> Entry | None:
    """Rows and cleared growth explain most of it, or leave too little for a row.

    A log without bytes is explained by a row of the same phase.
    """
    ledger, named = asked.ledger, asked.ledger.named_bytes()
    if named < MAJORITY * asked.rate and any(one.until is not None for one in ledger.cleared):
        # Objects in a container that only fills are in no row, but their bytes explain memory too.
        named += _filled_bytes(ledger)
    most = named >= MAJORITY * asked.rate or (named > 0 and asked.rate - named < NOTABLE_BYTES)
    phases = {row.phase for row in ledger.rows if row.phase}
    in_log = not ledger.case.counts_objects and asked.growth.phase in phases
    return (lambda: None) if most or in_log else None


def _filled_bytes(ledger: RunLedger) -> float:
    """Return the bytes per generation of all types that gain as fast as a filling container."""
    return sum(
        growing.bytes_rate or 0.0
        for growing in ledger.of("type")
        if any(as_many(growing, container) for container in ledger.full)
    )


def _while_filling(asked: MemoryAsked) -> Entry | None:
    """A buffer that the user reports is filling; other growth shows once it is full."""
    ledger = asked.ledger
    judged = ledger.case.memory()
    in_buffer = asked.in_objects or not ledger.case.counts_allocators
    if judged is None or not ledger.filling or not in_buffer:
        return None
    name, rate = judged.series.name, judged.verdict.rate
    filling = WhileFilling(rate, tuple(gauge.name for gauge in ledger.filling))
    cleared = Harmless(name, "filling", filling)
    full = max((g.full_at for g in ledger.filling if g.full_at is not None), default=None)
    if full is not None:
        plateau = judged.series.values[-1] + rate * max(full - judged.series.generations[-1], 0)
        cleared = replace(cleared, plateau=plateau, until=full)
    return lambda: ledger.cleared.append(cleared)


def _made_by_a_line(asked: MemoryAsked) -> Entry | None:
    """The line of a row left most of it."""
    found = None if asked.made.kind == "autograd" else asked.ledger.maker(asked.rest)
    return None if found is None else lambda: asked.ledger.add_to(*found)


def _behind_objects(asked: MemoryAsked) -> Entry | None:
    """Objects of a row own memory that no count of objects shows."""
    ledger, rest = asked.ledger, asked.rest
    elsewhere = born_elsewhere(ledger.case, rest, ledger.rows) is not None
    front = in_front_of(ledger.rows, asked.made, made_elsewhere=elsewhere)
    if front is None:
        return None
    return lambda: ledger.put(with_memory_behind(front, asked.growth, rest), front)


def _in_a_cache(asked: MemoryAsked) -> Entry | None:
    """Caches of libraries have room for it."""
    ledger = asked.ledger
    cache = filling_cache(ledger.case, asked.growth) if asked.made.kind == "native" else None
    return None if cache is None else lambda: ledger.cleared.append(cache)


CLAIMS = (
    Claim("told already", 50, _told),
    Claim("buffers that fill", 40, _while_filling),
    Claim("its line", 30, _made_by_a_line),
    Claim("behind objects", 20, _behind_objects),
    Claim("caches of libraries", 10, _in_a_cache),
)
