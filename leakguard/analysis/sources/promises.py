"""Objects that the program promised would be freed, and that are still alive."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.facts.measured import NotFreed
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.tolerance import SEEN_AGAIN, SEEN_ONCE
from leakguard.model import Expectation, Holder, Snapshot


def promises(case: Case) -> list[Growth]:
    """Return growth for each broken promise, by type and reason."""
    broken: dict[tuple[str, str], list[tuple[Snapshot, Expectation]]] = {}
    for snapshot in case.run.snapshots:
        for outcome in snapshot.expectations:
            if outcome.alive:
                broken.setdefault((outcome.type, outcome.why), []).append((snapshot, outcome))
    return [_growth(kept) for kept in broken.values()]


def _growth(kept: list[tuple[Snapshot, Expectation]]) -> Growth:
    first, latest = kept[0][0], kept[-1][1]
    alive = sum(outcome.alive - outcome.again for _, outcome in kept)
    more = sum(outcome.alive > outcome.again for _, outcome in kept) > 1
    measured = NotFreed(latest.type, alive, latest.why, len(kept))
    return Growth(
        "promise",
        latest.why,
        "instances",
        type=latest.type,
        pattern="growing" if more else "step",
        rate=alive / len(kept),
        since=first.generation,
        holder=_holder(latest),
        path=latest.trace,
        # The objects should be gone, and they survived a collection. If more objects appear later,
        # the earlier objects were not merely about to be released.
        exact=more,
        evidence=(Evidence("promise", measured),),
        confidence=SEEN_AGAIN if more else SEEN_ONCE,
        shown=kept[-1][0],
    )


def _holder(outcome: Expectation) -> Holder | None:
    if outcome.held_by is None:
        return None
    return Holder(
        outcome.held_by,
        outcome.type,
        outcome.alive,
        retained_bytes=outcome.retained_bytes,
        trace=outcome.trace,
    )
