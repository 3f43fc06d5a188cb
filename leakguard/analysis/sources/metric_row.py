"""How one metric of the process is judged: a row of the table in ``metrics``."""

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
        least: bytes per generation from which a rise matters at once; a slower rise must reach a
            total.
        floor: changes of the value below this are not evidence.
        integer: the values are counts, exact to one.
        second: metrics that may confirm a leak; one of them must grow too.
        exact: True if the kernel or the interpreter counts it, so it needs no confirmation.
        takes_ram: False if the bytes of the metric are not part of the limited memory.
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
        return f"{name} grow by {format_number(verdict.rate)} per generation: {judged.why}"
    low, high = verdict.interval
    between = f"({format_bytes(low)} to {format_bytes(high)})"
    return f"{name} grows by {format_change(verdict.rate)} per generation {between}"


def always(text: str) -> Said:
    """Return a function that returns the same text for every run."""
    return lambda case, judged: text
