"""Budgets, which limit what a run may use, and the checks of a run against a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from leakguard.model.finding import Finding

Outcome = Literal["kept", "broken", "unknown"]
FailOn = Literal["leak", "suspect", "never"]


@dataclass(frozen=True, slots=True)
class PhaseBudget:
    """Limits of one phase in bytes: its growth per generation, and its highest RSS."""

    growth: int | None = None
    peak: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; None means no limit.

    Attributes:
        growth: bytes of live memory that a generation may add, after the warm-up.
        peak: the highest RSS that any phase may reach, in bytes.
        verdict: the mildest verdict that fails the run.
        constant: live instances of a type at the end of every generation, as (low, high). A type
            may be named by its class name alone.
        resources: threads, open files or child processes that a generation may add.
        phases: limits of single phases.
        warmup: generations at the start that are left out when growth is measured.
        tolerance: the share by which a run may be worse than the baseline run.
    """

    growth: int | None = None
    peak: int | None = None
    verdict: FailOn = "leak"
    constant: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    phases: Mapping[str, PhaseBudget] = field(default_factory=dict)
    warmup: int = 1
    tolerance: float = 0.1


@dataclass(frozen=True, slots=True)
class Check:
    """The result of checking a run against one limit.

    Attributes:
        subject: what is limited, ``growth per generation``.
        limit: the limit in words, ``at most 1.0 GB``.
        fact: the measurement in words, or why nothing could be measured.
        outcome: ``unknown`` if the run does not record what the limit applies to.
        measured: the number in ``fact``; None if it is unknown or ``fact`` has no number.
        allowed: the number in ``limit``.
        phase: the phase that the limit applies to; None for the whole run.
        culprit: the finding that explains a broken limit, where there is one.
    """

    subject: str
    limit: str
    fact: str
    outcome: Outcome
    measured: float | None = None
    allowed: float | None = None
    phase: str | None = None
    culprit: Finding | None = None
