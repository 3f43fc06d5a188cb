"""What explains the growth of a number of the process: the rows of what it counts."""

from __future__ import annotations

from typing import NamedTuple

from leakguard.analysis.claims import Claim, strongest
from leakguard.analysis.growth import Growth
from leakguard.analysis.knowledge import is_mapping
from leakguard.analysis.ledger import RunLedger
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.tolerance import MAJORITY, OWN_SHARE, same

#: Kinds of what the kernel counts one by one, for which objects of the program stand.
RESOURCES = frozenset({"threads", "files", "children"})
_MAPPED = frozenset({"mapped", "address_space"})
_SHARED = frozenset({"rss_shared"})


class MetricAsked(NamedTuple):
    """A metric that grows, in a ledger with the rows of all objects."""

    ledger: RunLedger
    growth: Growth


def is_explained(ledger: RunLedger, growth: Growth) -> bool:
    """Return whether rows already name what a metric counts."""
    return strongest(CLAIMS, MetricAsked(ledger, growth)) is not None


def _handles(asked: MetricAsked) -> bool | None:
    """Objects that a row names, or that come with it, are as many as the resources."""
    ledger, growth = asked
    if growth.kind not in RESOURCES:
        return None
    of_phase = (r for r in ledger.rows if r.held_by is not None and growth.phase in (r.phase, None))
    rates = (rate for row in of_phase if not _is_later(growth, row) for rate in _rates(row))
    return any(same(rate, growth.rate or 0.0, OWN_SHARE) for rate in rates) or None


def _is_later(growth: Growth, row: LedgerRow) -> bool:
    """Return whether resources began to grow when births of a row had long been left behind."""
    trail = None if row.birth is None else row.birth.trail
    if growth.since is None or trail is None or not trail.residue.steady:
        return False
    return growth.since - trail.since > OWN_SHARE * trail.lasted


def _rates(row: LedgerRow) -> list[float]:
    """Return how many of each type a row has, and of all types that have a file mapped.

    A ``SharedMemory`` has a descriptor, and its ``mmap`` another one.
    """
    growths = (row.lead, *row.beside)
    mapped = sum(g.rate or 0.0 for g in growths if is_mapping(g.type))
    return [*(g.rate or 0.0 for g in growths), mapped]


def _mappings(asked: MetricAsked) -> bool | None:
    """A row is of objects that map memory."""
    ledger, growth = asked
    maps = any(is_mapping(row.lead.type) for row in ledger.rows)
    return (growth.name in _MAPPED and maps) or None


def _bytes(asked: MetricAsked) -> bool | None:
    """Rows and cleared growth of the same phase explain as many bytes, and no more mappings do."""
    ledger, growth = asked
    if any(is_mapping(growing.type) for growing in ledger.of("type")):
        return None
    enough = ledger.named_bytes(growth.phase) >= MAJORITY * (growth.rate or 0.0)
    return (growth.name in _MAPPED | _SHARED and enough) or None


def _stacks(asked: MetricAsked) -> bool | None:
    """Threads have stacks and arenas, also while it is undecided whether their number grows."""
    ledger, growth = asked
    threads = ledger.case.metric("threads")
    are_more = any(row.kind in ("threads", "gpu") for row in ledger.rows)
    are_more = are_more or (threads is not None and threads.may_grow)
    return (growth.name in _MAPPED and are_more) or None


def _gauges(asked: MetricAsked) -> bool | None:
    """A buffer that the user reports is filling."""
    return (asked.growth.name in _MAPPED and bool(asked.ledger.filling)) or None


CLAIMS = (
    Claim("handles", 50, _handles),
    Claim("mappings", 40, _mappings),
    Claim("bytes", 30, _bytes),
    Claim("stacks of threads", 20, _stacks),
    Claim("buffers that fill", 10, _gauges),
)
