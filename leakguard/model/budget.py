"""What a run may use, and whether it did: budgets and the checks made against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from leakguard.model.finding import Finding

Outcome = Literal["kept", "broken", "unknown"]
FailOn = Literal["leak", "suspect", "never"]


@dataclass(frozen=True, slots=True)
class PhaseBudget:
    """Limits of one phase in bytes: what it may add per generation, and the RSS it may reach."""

    growth: int | None = None
    peak: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; None means no limit.

    Attributes:
        growth: bytes of live memory that a generation may add, after the warm-up.
        peak: the highest RSS that any phase may reach, in bytes.
        verdict: the diagnosis from which the run fails.
        constant: live instances of a type at the end of every generation, as (low, high). A type
            may be named by its class name alone.
        resources: threads, open files or child processes that a generation may add.
        phases: limits of single phases.
        warmup: generations at the start that growth does not count.
        tolerance: how much worse than the baseline run is still fine, as a share.
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
    """One limit held against a run.

    Attributes:
        subject: what is limited, ``growth per generation``.
        limit: the limit in words, ``at most 1.0 GB``.
        fact: what was measured in words, or why nothing could be.
        outcome: ``unknown`` is neither: the run does not hold what the limit is about.
        measured: the number behind ``fact``, None when unknown or when it is no number.
        allowed: the number behind ``limit``.
        phase: the phase that the limit is about; None for the whole run.
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
