"""How one number of the process is judged: a row of the table in ``metrics``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leakguard.analysis.case import Case, Judged
from leakguard.model.finding import Kind, Verdict
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_change, format_number

Said = Callable[[Case, Judged], str]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """How one metric is judged.

    Attributes:
        least: bytes per generation from which a rise matters at once; less must reach a total.
        floor: smaller changes of the value mean nothing.
        integer: the values are counts, exact to one.
        second: metrics, one of which grows too if it is a leak; ``and_second`` names it.
        exact: the kernel or the interpreter counts it, so it needs no second.
        takes_ram: False if its bytes are not part of the limited memory.
        counts_as: the type that the finding names.
        reason: the sentence with the numbers, if the standard one does not fit.
        applies: a further condition.
        healthy: why this rise is no leak; None if nothing explains it.
    """

    metric: str
    kind: Kind
    fix: Said
    least: float = 0.0
    floor: float = 0.0
    integer: bool = False
    second: tuple[str, ...] = ()
    exact: bool = False
    takes_ram: bool = True
    worst: Verdict = "leak"
    counts_as: str | None = None
    reason: Said | None = None
    applies: Callable[[Case, Judged], bool] = lambda case, judged: True
    healthy: Callable[[Case, Judged], str | None] = lambda case, judged: None
    ruled_out: tuple[str, ...] = ()


def grows(judged: Judged) -> str:
    """Return the sentence with the growth of a metric."""
    name, verdict = METRICS[judged.series.name].words, judged.verdict
    if judged.series.unit == "count":
        return f"{name} grow by {format_number(verdict.rate)} per generation: {verdict.reason}"
    low, high = verdict.interval
    between = f"({format_bytes(low)} to {format_bytes(high)})"
    return f"{name} grows by {format_change(verdict.rate)} per generation {between}"


def always(text: str) -> Said:
    """Return a function that returns the same text for every run."""
    return lambda case, judged: text
