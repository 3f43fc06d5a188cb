"""What a run could not have shown, said beside what it did show."""

from __future__ import annotations

import math

from leakguard.analysis.case import Case
from leakguard.analysis.tolerance import MATERIAL_BYTES, MATERIAL_SHARE
from leakguard.model.units import format_bytes, format_change

MINIMUM_GENERATIONS = 3


def undecided(case: Case) -> str | None:
    """Return why the run is too short or too noisy for "stable"; None when it is not."""
    memory = case.memory()
    rounds = 0 if memory is None else len(memory.series)
    if memory is None or rounds < MINIMUM_GENERATIONS:
        seen = f"{rounds} generation{'' if rounds == 1 else 's'}"
        return f"{seen} recorded, at least {MINIMUM_GENERATIONS} are needed"
    verdict = memory.verdict
    material = max(MATERIAL_BYTES, MATERIAL_SHARE * memory.series.values[-1])
    if verdict.growing == "cannot tell" and verdict.rate >= material:
        more = f"; {verdict.more_rounds} more generations would tell" if verdict.more_rounds else ""
        return (
            f"{memory.series.name} grows by {format_change(verdict.rate)} a generation and may "
            f"still level off{more}"
        )
    return None


def limits(case: Case, doubt: str | None) -> tuple[str, ...]:
    """Return what could not be seen in this run, in plain sentences."""
    said = [doubt] if doubt else []
    memory = case.memory()
    if memory is not None and 0 < memory.verdict.detectable < math.inf:
        said.append(
            f"cannot tell below {format_bytes(memory.verdict.detectable)} per generation in "
            f"{memory.series.name}"
        )
    if not case.counts_objects:
        said.append("live objects were not counted by type beyond what the log names")
    said.extend(_skipped(case))
    said.extend(_unavailable(case))
    return tuple(said)


def _skipped(case: Case) -> list[str]:
    ends = [s for s in case.run.snapshots if s.moment == "generation"]
    looked = sum(s.census is not None for s in ends)
    if not looked or looked == len(ends):
        return []
    return [
        f"objects were counted in {looked} of {len(ends)} generations, to keep the guard's own "
        f"cost under {case.run.info.max_overhead or 0:.0%}"
    ]


def _unavailable(case: Case) -> list[str]:
    reasons = {
        probe: reason
        for snapshot in case.run.snapshots
        for probe, reason in snapshot.unavailable.items()
        if probe != "gpu"
    }
    return [f"{probe} is unknown: {reason}" for probe, reason in reasons.items()]
