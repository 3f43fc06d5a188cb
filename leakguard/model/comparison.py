"""Two runs compared: findings that are new or gone, and numbers that changed."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.model.finding import Finding
from leakguard.model.metric import Unit
from leakguard.model.report import Report


@dataclass(frozen=True, slots=True)
class Measure:
    """One number in two runs; ``before`` or ``after`` is None if that run does not record it."""

    name: str
    unit: Unit
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one run to another.

    Attributes:
        new: findings of ``after`` whose fingerprint ``before`` does not have.
        gone: findings of ``before`` that ``after`` does not have.
        stayed: findings of both, as (before, after).
        measures: numbers of the whole run, such as growth and peak.
        phases: bytes added per generation by phase.
        counts: live objects at the end, by type.
    """

    before: Report
    after: Report
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    stayed: tuple[tuple[Finding, Finding], ...]
    measures: tuple[Measure, ...]
    phases: tuple[Measure, ...]
    counts: tuple[Measure, ...]
