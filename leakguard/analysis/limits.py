"""What a run could not have detected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from leakguard.analysis.balance import is_trifle
from leakguard.analysis.case import Case, Judged
from leakguard.analysis.pace import adds_up, daily
from leakguard.analysis.tolerance import (
    FEWEST_LOOKS,
    MAJORITY,
    MATERIAL_BYTES,
    MATERIAL_SHARE,
    NOTABLE_BYTES,
    NOTABLE_COUNTED,
)
from leakguard.model import Cleared, Finding, Run
from leakguard.model.metric import METRICS, RESOURCES
from leakguard.model.units import format_bytes, format_change, format_number

_NAME_THEM = (
    ": name them by `for epoch in guard.generations(range(10)):` around the loop, or by "
    "`guard.generation()` where one begins"
)
#: Values of ``RunInfo.source`` for records with only the memory of a process as a whole.
OUTSIDE = ("outside", "curve")
_LISTED = 16  # the most generations that one line of a report lists; chosen


def undecided(case: Case, cleared: Sequence[Cleared], found: Sequence[Finding]) -> str | None:
    """Return why the run is too short or too noisy to be "stable"; None if it is not.

    Args:
        case: the run.
        cleared: growth in the run that is no leak.
        found: the reported findings, and those that the user ignores.
    """
    memory = case.memory()
    rounds = 0 if memory is None else len(memory.series)
    if memory is None or rounds < FEWEST_LOOKS:
        seen = f"{rounds} generation{'' if rounds == 1 else 's'}"
        how = "" if rounds or case.run.info.source != "guard" else _NAME_THEM
        return f"{seen} recorded, at least {FEWEST_LOOKS} are needed{how}"
    verdict, name = memory.verdict, METRICS[memory.series.name].words
    if (slow := _slowly_rising(case, memory, cleared, found)) is not None:
        return slow
    if (unseen := _risen_unseen(memory, cleared, found)) is not None:
        return unseen
    material = _material(memory)
    allocated = case.metric("heap_in_use")
    # A smaller undecided rate is reported if the bytes of the C allocator grow for certain. Live
    # memory consists of these bytes and of Python's memory. It is then undecided only because looks
    # add some bytes to Python's memory.
    if allocated is not None and allocated.grows:
        material = NOTABLE_BYTES
    if verdict.growing == "cannot tell" and verdict.rate >= material:
        more = (
            f"; {verdict.more_rounds} more generations would decide" if verdict.more_rounds else ""
        )
        rate = format_change(verdict.rate)
        return f"{name} grows by {rate} per generation and may still level off{more}"
    handles = next(filter(None, map(partial(_rising_handles, case), RESOURCES)), None)
    return handles or _rising_when_cut(case, memory, cleared, found)


def _material(memory: Judged) -> float:
    """Return the bytes from which growth that is not decided needs a stated doubt."""
    return max(MATERIAL_BYTES, MATERIAL_SHARE * memory.series.values[-1])


def _slowly_rising(
    case: Case, memory: Judged, cleared: Sequence[Cleared], found: Sequence[Finding]
) -> str | None:
    """Report that live memory rises slowly, by much in a day, and that nothing explains it.

    Such a run cannot be called stable, but the growth is too little to be inspected.
    """
    verdict, rate = memory.verdict, memory.verdict.rate
    came_to = memory.series.values[-1] - memory.series.values[0]
    if verdict.growing == "no" or min(rate * len(memory.series), came_to) < NOTABLE_COUNTED:
        return None
    told = [c for c in cleared if not is_trifle(c, memory)]
    if not adds_up(case, rate) or _explained(told, found) >= MAJORITY * rate:
        return None
    may = "grows" if memory.grows else "may grow"
    return (
        f"{METRICS[memory.series.name].words} {may} by {format_change(rate)} per generation, "
        f"{format_bytes(daily(case, rate) or 0.0)} a day at this pace; it is too little here to "
        "tell what keeps it: more generations would decide"
    )


def _risen_unseen(
    memory: Judged, cleared: Sequence[Cleared], found: Sequence[Finding]
) -> str | None:
    """Report that live memory rose by much in generations of which only the last was measured.

    Whether it rose in one of them, or in each, nothing shows.
    """
    series, name = memory.series, METRICS[memory.series.name].words
    lasted = series.generations[-1] - series.generations[-2]
    rose = series.values[-1] - max(series.values[:-1])
    if memory.grows or lasted < FEWEST_LOOKS or rose < _material(memory):
        return None
    told = [c for c in cleared if not is_trifle(c, memory)]
    if _explained(told, found) * lasted >= MAJORITY * rose:
        return None
    return (
        f"{name} rose by {format_bytes(rose)} in the last {lasted} generations, of which only the "
        "last was measured; a longer run, or max_overhead=None, shows whether it goes on"
    )


def _rising_when_cut(
    case: Case, memory: Judged, cleared: Sequence[Cleared], found: Sequence[Finding]
) -> str | None:
    """Report that live memory still rises, unexplained, where the file of an incomplete run ends.

    The look at the end of a complete run counts the objects once more. An incomplete run may end
    long after its last look, so growth that is too small for a leak is not called "stable" there.
    """
    rate, gained = memory.verdict.rate, memory.series.values[-1] - memory.series.values[0]
    if not case.run.is_part or not memory.may_grow or gained < NOTABLE_BYTES:
        return None
    if (
        any(c.metric == memory.series.name for c in cleared)
        or _explained(cleared, found) >= MAJORITY * rate
    ):
        return None
    since = memory.started_at
    return (
        f"{METRICS[memory.series.name].words} grows by {format_change(rate)} per generation"
        f"{'' if since is None else f' since generation {since}'}, and did so until the file "
        "ends; the run's last look would show what grows"
    )


def _explained(cleared: Sequence[Cleared], found: Sequence[Finding]) -> float:
    """Return bytes per generation of filling and findings; infinite if a filling has no size."""
    sizes = [c.bytes_per_generation for c in cleared if c.pattern == "filling"]
    told = sum(finding.bytes_per_generation or 0.0 for finding in found)
    return math.inf if None in sizes else told + sum(size or 0.0 for size in sizes)


def _rising_handles(case: Case, metric: str) -> str | None:
    """Report threads, files or processes that rose in every generation of a short run."""
    series = case.timeline.metric(metric)
    steps = [after - before for before, after in pairwise(series.values[1:])]
    if len(steps) < FEWEST_LOOKS - 1 or min(steps) <= 0:
        return None
    verdict = case.judge(series, integer=True).verdict
    if verdict.growing != "cannot tell" or not verdict.more_rounds:
        return None
    return (
        f"{METRICS[metric].words} grow by {format_number(verdict.rate)} per generation and may "
        f"still level off; {verdict.more_rounds} more "
        f"generation{'' if verdict.more_rounds == 1 else 's'} would decide"
    )


def limits(case: Case, doubt: str | None, least: str | None) -> tuple[str, ...]:
    """Return what could not be detected in this run, in plain sentences.

    ``doubt`` is why the run is undecided. ``least`` is the smallest growth per generation that
    would be detected, in words.
    """
    said = [doubt] if doubt else []
    memory = case.memory()
    if memory is not None and least is not None:
        name = METRICS[memory.series.name].words
        said.append(f"growth below {least} per generation in {name} would go undetected")
    info = case.run.info
    if info.source in OUTSIDE or info.observer is not None:
        said.append("a curve from outside has no types, holders or lines; a guard records them")
    elif not case.counts_objects:
        said.append("live objects were counted only for the types that the log names")
    if info.without_scan is not None:
        said.append(f"the heap was walked in Python, several times slower: {info.without_scan}")
    said.extend(case.run.notes)
    said.extend(_skipped(case))
    said.extend(_unavailable(case))
    return tuple(said)


def _skipped(case: Case) -> list[str]:
    """List the generations with a look, and the guard's cost; empty if all generations had one."""
    ends = case.timeline.ends
    looked = [generation for generation, end in ends.items() if end.census is not None]
    if not looked or len(looked) == len(ends):
        return []
    said = f"objects were counted in {len(looked)} of {len(ends)} generations ({_listed(looked)})"
    return [f"{said}{_cost(case.run)}"]


def _listed(numbers: list[int]) -> str:
    """Return all generations if they are few, else the first and the last of them."""
    words = [str(number) for number in numbers]
    if len(words) > _LISTED:
        words = [*words[: _LISTED // 2], "...", *words[-_LISTED // 2 :]]
    return ", ".join(words)


def _cost(run: Run) -> str:
    """Return the shares of the run's time that the guard's work and tracing took, in words."""
    whole = max((s.seconds for s in run.snapshots if s.seconds is not None), default=0.0)
    if whole <= 0 or run.watch_seconds <= 0:
        return ""
    said = f"; the guard took {100 * run.watch_seconds / whole:.1f} % of the run"
    traced = run.tracing_seconds
    return f"{said}, tracing {100 * traced / whole:.1f} % more" if traced > 0 else said


def _unavailable(case: Case) -> list[str]:
    reasons = case.run.unavailable.items()
    return [f"{probe}: {reason}" for probe, reason in reasons if probe != "gpu"]
