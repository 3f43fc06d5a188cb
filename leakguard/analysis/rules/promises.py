"""Objects the program said it had given up, and that are still alive."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.advice import advice
from leakguard.analysis.case import Case
from leakguard.analysis.fingerprint import fingerprint
from leakguard.model import Cleared, Expectation, Finding, Snapshot


def promises(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report each kind of promise that was broken; a repeated one is a leak.

    Where a finding names the type and its holder already, the promise adds nothing to it.
    """
    named = {(f.type, f.held_by) for f in found if isinstance(f, Finding)}
    broken: dict[tuple[str, str], list[tuple[Snapshot, Expectation]]] = {}
    for snapshot in case.run.snapshots:
        for outcome in snapshot.expectations:
            if outcome.alive:
                broken.setdefault((outcome.type, outcome.why), []).append((snapshot, outcome))
    findings = map(_finding, broken.values())
    return [f for f in findings if not {(f.type, f.held_by), (f.type, None)} & named]


def _finding(kept: list[tuple[Snapshot, Expectation]]) -> Finding:
    first, latest = kept[0][0], kept[-1][1]
    alive = sum(outcome.alive for _, outcome in kept)
    why = f" ({latest.why})" if latest.why else ""
    times = f"{len(kept)} generations" if len(kept) > 1 else "one generation"
    return Finding(
        fingerprint=fingerprint("expect_freed", latest.type, latest.why),
        kind="instances",
        verdict="leak" if len(kept) > 1 else "suspect",
        pattern="growing" if len(kept) > 1 else "step",
        reason=f"{alive} {latest.type} that should have been freed{why} were alive after a "
        f"collection, in {times}",
        label=kept[-1][0].label,
        serial=kept[-1][0].serial,
        started_at=first.generation,
        type=latest.type,
        count_per_generation=alive / len(kept),
        held_by=latest.held_by,
        retained_bytes=latest.retained_bytes,
        path=tuple(hop.line for hop in latest.trace),
        confidence=0.99 if len(kept) > 1 else 0.8,
        fix=advice(latest.type),
    )
