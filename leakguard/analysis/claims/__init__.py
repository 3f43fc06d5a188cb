"""What explains what: one table of claims for types, one for metrics, one for live memory.

The strongest claim that applies decides, whatever the order of its table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

AskedT = TypeVar("AskedT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Claim(Generic[AskedT, AnswerT]):
    """One way in which growth is accounted for.

    Attributes:
        name: what accounts for it.
        strength: a claim decides if none of greater strength applies.
        answer: returns how the growth is accounted for; None if the claim does not apply.
    """

    name: str
    strength: int
    answer: Callable[[AskedT], AnswerT | None]


def strongest(claims: Iterable[Claim[AskedT, AnswerT]], asked: AskedT) -> AnswerT | None:
    """Return the answer of the strongest claim that applies; None if none does."""
    ranked = sorted(claims, key=lambda claim: -claim.strength)
    return next((found for c in ranked if (found := c.answer(asked)) is not None), None)
