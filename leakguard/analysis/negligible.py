"""Growth too small to matter: a program that notes down a line about each generation.

A list of results, one record a generation, grows for ever and ends no run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from leakguard.analysis.case import Case
from leakguard.analysis.limits import MATERIAL_BYTES
from leakguard.analysis.rules.resources import growing_resources
from leakguard.model import Cleared, Finding
from leakguard.model.units import format_bytes

Found: TypeAlias = "Finding | Cleared"

SMALL_BYTES = 10_000  # a generation: a hundred megabytes after ten thousand of them
_HANDLES = (
    r"^(mmap|socket|ssl|sqlite3|subprocess|threading|select|_io|_asyncio|asyncio)\.|"
    r"(Session|Connection|Client|Socket|Pool|Executor|Thread|Process|SharedMemory|Handler|Handle|"
    r"Task|Cursor|File|Mapping|Buffer|Listener|Subscription|Timer|Loop|Figure\w*)$"
)
RECORDS = 2  # entries a generation: a line about each, and no more
_OBJECTS = frozenset({"instances", "container", "arrays", "tensors"})


def without_negligible(case: Case, found: Sequence[Found]) -> list[Found]:
    """Clear objects that add a few bytes, unless something larger grows that they may stand for.

    A connection is a small object in front of native memory, a thread object of a thread: growth
    of memory that nothing else explains, or of such a resource, keeps them.
    """
    objects = [f for f in found if isinstance(f, Finding) and f.kind in _OBJECTS]
    small = [finding for finding in objects if _is_small(case, finding)]
    if not small or growing_resources(case):
        return list(found)
    if len(small) == len(objects) and _memory_is_unexplained(case, found):
        small.remove(max(small, key=lambda finding: finding.bytes_per_generation or 0.0))
    return [_cleared(item) if item in small else item for item in found]


def _is_small(case: Case, finding: Finding) -> bool:
    rate, last = finding.bytes_per_generation, max(case.run.generations, default=0)
    if rate is None or _is_watched(case, finding):
        return False
    if (finding.count_per_generation or 0.0) > RECORDS or _is_handle(finding):
        return False
    rounds = last + 1 - (finding.started_at or 0)
    return rate < SMALL_BYTES and rate * rounds < MATERIAL_BYTES


def _is_handle(finding: Finding) -> bool:
    """True for a small object in front of something larger that no count of bytes shows."""
    return finding.type is not None and re.search(_HANDLES, finding.type) is not None


def _is_watched(case: Case, finding: Finding) -> bool:
    return any(finding.type in snapshot.watched for snapshot in case.run.snapshots)


def _memory_is_unexplained(case: Case, found: Sequence[Found]) -> bool:
    memory = case.memory()
    if memory is None or not memory.grows:
        return False
    rates = (f.bytes_per_generation for f in found if isinstance(f, Cleared) or f.held_by)
    rest = memory.verdict.rate - sum(filter(None, rates))
    return rest >= max(SMALL_BYTES, memory.verdict.rate / 2)


def _cleared(finding: Finding) -> Cleared:
    rate = finding.bytes_per_generation or 0.0
    reason = (
        f"{finding.held_by or finding.type} gains {format_bytes(rate)} a generation: "
        f"{format_bytes(1000 * rate)} after a thousand of them"
    )
    return Cleared(finding.held_by or finding.type or finding.kind, finding.pattern, reason)
