"""A change of the program that was tried by running it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FixOutcome = Literal["fixed", "less", "no", "broke"]

#: From the best outcome to the worst: what breaks the program is no fix at all.
BEST_FIRST: tuple[FixOutcome, ...] = ("fixed", "less", "no", "broke")


@dataclass(frozen=True, slots=True)
class TriedFix:
    """One change, and the run without it compared with the run with it.

    Attributes:
        outcome: ``fixed`` if the growth is gone and the program prints the same, ``less`` if at
            least a fifth of it is gone, ``no`` if not, ``broke`` if the program ends with another
            status or prints something else.
        reason: one sentence with the facts behind the outcome.
        template: the kind of change; ``patch`` for one that was handed in.
        title: what the change does, as an instruction.
        diff: the change as a unified diff.
        before: growth of the finding per generation in the run without the change.
        after: growth of the finding per generation in the run with it; 0 if it is not found.
        unit: ``bytes`` or ``objects``, the unit of ``before`` and ``after``.
        curve_before: live memory in bytes at the ends of the generations without the change.
        curve_after: the same with the change; empty if that run recorded nothing.
    """

    outcome: FixOutcome
    reason: str
    template: str
    title: str
    diff: str
    before: float
    after: float | None
    unit: Literal["bytes", "objects"]
    curve_before: tuple[float, ...] = ()
    curve_after: tuple[float, ...] = ()
