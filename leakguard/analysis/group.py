"""Types that grow together: grouped by the phase that adds them, and ranked in each group."""

from __future__ import annotations

from collections.abc import Iterable

from leakguard.analysis.case import Case
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.evidence import memory_witness
from leakguard.analysis.growth import Growth
from leakguard.analysis.place_in_loop import phase_of_memory
from leakguard.analysis.tolerance import (
    MATERIAL_BYTES,
    NOTABLE_BYTES,
    NOTABLE_COUNTED,
    notable,
)


def by_phase(types: Iterable[Growth]) -> dict[str | None, list[Growth]]:
    """Group types by the phase that adds them; in each group the most informative type is first.

    Watched types that violate their expectation come first, then the program's own classes, then
    the rest, each by growth in bytes.
    """
    groups: dict[str | None, list[Growth]] = {}
    for growing in types:
        groups.setdefault(growing.phase, []).append(growing)
    for group in groups.values():
        group.sort(key=_rank)
    return groups


def _rank(growing: Growth) -> tuple[bool, bool, bool, float, float]:
    return (
        not growing.breaks_expectation,
        not growing.watched,
        not is_users(growing.name),
        -(growing.bytes_rate or 0.0),
        -(growing.rate or 0.0),
    )


def weight(entry: tuple[str | None, list[Growth]]) -> tuple[bool, float]:
    """Return the sort key of groups by phase: largest first, the group without a phase last."""
    phase, group = entry
    return phase is None, -known_bytes(group)


def known_bytes(group: Iterable[Growth]) -> float:
    """Return the bytes per generation that types gain; types without sizes count as 0."""
    return sum(growing.bytes_rate or 0.0 for growing in group)


def is_programs(growing: Growth) -> bool:
    """Return True for a class of the program, or for a type that the user watches."""
    return growing.watched is not None or is_users(growing.name)


def is_telling(case: Case, group: list[Growth]) -> bool:
    """Return whether the growth of types without a growing holder is worth reporting.

    A few more builtin objects may be the interpreter's own.
    """
    lead, size = group[0], known_bytes(group)
    if is_programs(lead) or (lead.bytes_rate or 0.0) >= MATERIAL_BYTES:
        return True
    last = lead.judged.series.generations[-1] if lead.judged is not None else None
    if not notable(size, lead.since, last, NOTABLE_BYTES, NOTABLE_COUNTED):
        return False
    memory = case.memory()
    agrees = memory is None or memory.grows or memory.gains(size)
    if size < NOTABLE_BYTES and not agrees:
        return False  # Growth this small counts only if live memory agrees.
    phase = lead.phase or phase_of_memory(case, lead, size)
    return memory_witness(case, phase, lead.since, size) is not None
