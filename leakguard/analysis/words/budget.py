"""What the checks of a budget say: the limit of each, what was measured, and what is misspelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from leakguard.model.comparison import Measure
from leakguard.model.finding import Finding, Verdict
from leakguard.model.metric import METRICS
from leakguard.model.report import Report
from leakguard.model.units import format_bytes, format_change, format_number

PER_GENERATION = "growth per generation"
PER_TEST = "growth per test"
NOT_COUNTED = "the run does not count this type"

#: What a value should have been.
Wanted = Literal["phase limits", "count", "amount", "generations"]

_WANTED: dict[Wanted, str] = {
    "phase limits": "is no table with growth and peak",
    "count": "is no count; write 2, or [16, 17] for a range",
    "amount": "is no number of zero or more",
    "generations": "is no number of generations",
}


def diagnosis_limit(level: Verdict) -> str:
    """Return the limit for the verdict itself."""
    return "no leak" if level == "leak" else "no leak and no suspect"


def diagnosis(report: Report) -> str:
    """Return the verdict of a report, with its headline."""
    word = f"{report.verdict}: " if report.verdict in ("leak", "suspect") else ""
    return f"{word}{report.headline.rstrip('.')}"


def at_most(size: float) -> str:
    """Return a limit in bytes."""
    return f"at most {format_bytes(size)}"


def at_most_many(count: float) -> str:
    """Return a limit for a number of things."""
    return f"at most {format_number(count)}"


def growth(rate: float, metric: str) -> str:
    """Return the growth of a metric."""
    return f"{format_change(rate)} ({METRICS[metric].title})"


def unmeasured(metric: str, too_few: tuple[int, int] | None) -> str:
    """Return why the growth of a metric is unknown: too few generations after so many, or none."""
    if too_few is None:
        return f"the run does not record {METRICS[metric].title}"
    left, warmup = too_few
    generations = f"{left} generation{'' if left == 1 else 's'}"
    return f"{generations} after {warmup} of warm-up; 2 are needed"


def confirmed(grown: float, measured: str, *, over: bool, second: str | None) -> str:
    """Return growth by one measurement and, if it is over the limit, which one confirms it."""
    said = f", confirmed by {_measured(second)}" if second else ""
    said = said or "; no second measurement confirms it"
    return f"{format_change(grown)} ({_measured(measured)}{said if over else ''})"


def no_phase(phases: Iterable[str]) -> str:
    """Return that no growth is known for a phase, with the phases that there are."""
    known = ", ".join(phases) or "none"
    return f"no growth is known for this phase; phases of the run: {known}"


def phase_growth(kept: float, made: float) -> str:
    """Return what a phase adds that is kept; other phases may free what it makes."""
    if kept >= made:
        return format_change(kept)
    rest = f"{format_change(made)} made: other phases free the rest"
    return f"{format_change(kept)} kept, {rest}"


def no_peak(phase: str | None) -> str:
    """Return why the highest RSS is unknown."""
    return "the run does not record RSS" if phase is None else "the run has no such phase"


def always(low: int, high: int) -> str:
    """Return the limit for a count that must not change."""
    return f"always {low}" if low == high else f"always {low} to {high}"


def live(name: str) -> str:
    """Return the subject of a check of live instances."""
    return f"live {name}"


def counted(count: int, label: str) -> str:
    """Return a count at a snapshot."""
    return f"{count} at {label}"


def added(metric: str) -> str:
    """Return the subject of a check of what a generation adds."""
    return f"{METRICS[metric].title.lower()} added per generation"


def no_new(level: Verdict) -> str:
    """Return the limit for findings that the baseline does not have."""
    return f"no {level} that the baseline does not have"


def new(findings: Sequence[Finding]) -> str:
    """Return the findings that the baseline does not have."""
    return "; ".join(
        f"{f.verdict} of {f.type or f.kind} in {f.phase or 'no one phase'}" for f in findings
    )


def against_baseline(measure: Measure) -> str:
    """Return the subject of a check against the baseline."""
    return f"{measure.name} against the baseline"


def not_in(measure: Measure) -> str:
    """Return which of two runs lacks a measure."""
    return f"the {'baseline' if measure.before is None else 'run'} does not have it"


def no_worse(allowed: float, before: float) -> str:
    """Return the limit that a baseline sets."""
    return f"at most {format_bytes(allowed)} (it was {format_bytes(before)})"


def _measured(by: str) -> str:
    """Return the name of a measurement, spelled for use within a sentence."""
    if by == "diagnosis":
        return "the diagnosis"
    if by == "objects":
        return "bytes of counted objects"
    return METRICS[by].words.partition(" (")[0]


def unusable(value: object, wanted: Wanted) -> str:
    """Return that a value is not what is wanted."""
    return f"{value!r} {_WANTED[wanted]}"


def not_one_of(value: object, allowed: Iterable[str]) -> str:
    """Return that a value is none of those that are allowed."""
    return f"{value!r} is not one of {', '.join(allowed)}"


def at_key(key: str, wrong: object) -> str:
    """Return what is wrong with the value of a key."""
    return f"budget key {key}: {wrong}"


def no_table(key: str, value: object) -> str:
    """Return that a key needs a table."""
    return at_key(key, f"{value!r} is no table; write name = limit lines under it")


def unknown_key(what: str, key: str, keys: Iterable[str]) -> str:
    """Return that a key is unknown, with those that are known."""
    return f"unknown {what} key {key!r}; the keys are {', '.join(keys)}"
