"""How one number of the process is read, as a row of the table in ``metrics``."""

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
    """How one metric is read.

    Attributes:
        least: bytes a generation from which on a rise matters at once; less has to come to more.
        floor: moves of the value below this mean nothing.
        integer: the values are counts of things, exact to one.
        second: metrics one of which grows with it where it is a leak; ``and_second`` says so.
        exact: the kernel or the interpreter counts it, so it needs no second.
        takes_ram: False where its bytes are none of the memory that can run out.
        counts_as: the type that the finding names.
        reason: the sentence with the numbers, where the standard one does not do.
        applies: what else must hold.
        healthy: why this rise is no leak; None where nothing explains it.
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
    """Return the sentence that says by how much a metric grows."""
    name, verdict = METRICS[judged.series.name].words, judged.verdict
    if judged.series.unit == "count":
        return f"{name} grow by {format_number(verdict.rate)} per generation: {verdict.reason}"
    low, high = verdict.interval
    between = f"({format_bytes(low)} to {format_bytes(high)})"
    return f"{name} grows by {format_change(verdict.rate)} per generation {between}"


def always(text: str) -> Said:
    """Return what says the same of every run."""
    return lambda case, judged: text
