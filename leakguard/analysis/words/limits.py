"""What a run could not have detected, and why it is undecided, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leakguard.analysis.facts import doubt as d
from leakguard.model import Run
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_change, format_number

_NAME_THEM = (
    ": name them by `for epoch in guard.generations(range(10)):` around the loop, or by "
    "`guard.generation()` where one begins"
)
_IN_A_LINE = 16  # the most generations that one line of a report lists; chosen


def limits(unseen: d.Unseen) -> tuple[str, ...]:
    """Return what could not be detected in a run."""
    return tuple(_limits(unseen))


def doubt(found: d.Doubt) -> str:
    """Return why a run is undecided."""
    match found:
        case d.TooFew(rounds, needed, unmarked):
            how = _NAME_THEM if unmarked else ""
            return f"{_generations(rounds)} recorded, at least {needed} are needed{how}"
        case d.MayLevelOff(metric, rate, more):
            then = f"; {more} more generations would decide" if more else ""
            return (
                f"{METRICS[metric].words} grows by {format_change(rate)} per generation and may "
                f"still level off{then}"
            )
        case d.HandlesMayLevelOff(metric, rate, more):
            return (
                f"{METRICS[metric].words} grow by {format_number(rate)} per generation and may "
                f"still level off; {more} more generation{'' if more == 1 else 's'} would decide"
            )
        case d.SlowRise(metric, rate, daily, sure):
            return (
                f"{METRICS[metric].words} {'grows' if sure else 'may grow'} by "
                f"{format_change(rate)} per generation, {format_bytes(daily)} a day at this pace; "
                "it is too little here to tell what keeps it: more generations would decide"
            )
        case d.RoseUnseen(metric, rose, lasted):
            return (
                f"{METRICS[metric].words} rose by {format_bytes(rose)} in the last {lasted} "
                "generations, of which only the last was measured; a longer run, or "
                "max_overhead=None, shows whether it goes on"
            )
        case d.RoseToTheEnd(metric, rate, since):
            return (
                f"{METRICS[metric].words} grows by {format_change(rate)} per generation"
                f"{'' if since is None else f' since generation {since}'}, and did so until the "
                "file ends; the run's last look would show what grows"
            )


def _generations(count: int) -> str:
    return f"{count} generation{'' if count == 1 else 's'}"


def _limits(unseen: d.Unseen) -> Iterator[str]:
    run = unseen.run
    if unseen.doubt is not None:
        yield doubt(unseen.doubt)
    if unseen.least is not None:
        metric, least = unseen.least
        growth = f"growth below {format_bytes(least)} per generation in {METRICS[metric].words}"
        yield f"{growth} would go undetected"
    if unseen.from_outside:
        yield "a curve from outside has no types, holders or lines; a guard records them"
    elif not unseen.counts_objects:
        yield "live objects were counted only for the types that the log names"
    if run.info.without_scan is not None:
        yield f"the heap was walked in Python, several times slower: {run.info.without_scan}"
    yield from run.notes
    if unseen.looked and len(unseen.looked) < unseen.generations:
        counted = f"{len(unseen.looked)} of {unseen.generations} generations"
        said = f"objects were counted in {counted} ({_listed(unseen.looked)})"
        yield f"{said}{_cost(run)}"
    yield from (f"{probe}: {why}" for probe, why in run.unavailable.items() if probe != "gpu")


def _listed(numbers: Sequence[int]) -> str:
    """Return all generations if they are few, else the first and the last of them."""
    words = [str(number) for number in numbers]
    if len(words) > _IN_A_LINE:
        words = [*words[: _IN_A_LINE // 2], "...", *words[-_IN_A_LINE // 2 :]]
    return ", ".join(words)


def _cost(run: Run) -> str:
    """Return the shares of the run's time that the guard's work and tracing took."""
    whole = max((s.seconds for s in run.snapshots if s.seconds is not None), default=0.0)
    if whole <= 0 or run.watch_seconds <= 0:
        return ""
    said = f"; the guard took {100 * run.watch_seconds / whole:.1f} % of the run"
    traced = run.tracing_seconds
    return f"{said}, tracing {100 * traced / whole:.1f} % more" if traced > 0 else said
