"""How one metric of the process is judged: a row of the table in ``metrics``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.facts.excluded import Excluded
from leakguard.analysis.facts.fix import Advice
from leakguard.analysis.facts.harmless import Why
from leakguard.analysis.facts.measured import Measured, MetricGrows
from leakguard.model.finding import Kind, Verdict


def grows(case: Case, judged: Judged) -> MetricGrows:
    """Return the growth of a metric as what was measured."""
    series, verdict = judged.series, judged.verdict
    return MetricGrows(series.name, series.unit, verdict.rate, verdict.interval, verdict.reason)


@dataclass(frozen=True, slots=True)
class MetricRow:
    """How one metric is judged.

    Attributes:
        fix: chooses the advice; None for the one under the name of the metric.
        least: bytes per generation from which a rise matters at once; a slower rise must reach a
            total.
        floor: changes of the value below this are not evidence.
        integer: the values are counts, exact to one.
        second: metrics that may confirm a leak; one of them must grow too.
        exact: True if the kernel or the interpreter counts it, so it needs no confirmation.
        takes_ram: False if the bytes of the metric are not part of the limited memory.
        counts_as: the type that the finding names.
        measured: what is told of the growth.
        applies: a further condition.
        healthy: why this rise is no leak; None if nothing explains it.
    """

    metric: str
    kind: Kind
    fix: Callable[[Case, Judged], Advice] | None = None
    least: float = 0.0
    floor: float = 0.0
    integer: bool = False
    second: tuple[str, ...] = ()
    exact: bool = False
    takes_ram: bool = True
    worst: Verdict = "leak"
    counts_as: str | None = None
    measured: Callable[[Case, Judged], Measured] = grows
    applies: Callable[[Case, Judged], bool] = lambda case, judged: True
    healthy: Callable[[Case, Judged], Why | None] = lambda case, judged: None
    ruled_out: tuple[Excluded, ...] = ()
