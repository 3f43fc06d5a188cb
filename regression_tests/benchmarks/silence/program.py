"""A program of this set: a leak and its calm twin, with what a report must say of the leak."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: Makes the step of one round; what follows its ``yield`` is done when the loop is over.
Make = Callable[[bool], Iterator[Callable[[int], object]]]


@dataclass(frozen=True)
class Program:
    """A program and the truth about it.

    Attributes:
        make: makes the step; it leaks where the argument is True.
        held_by: parts that the holders of the leak are known by, one for each leak.
        fix: a word that the advice must have; empty where any will do.
        torch: whether it needs torch.
        rounds: how many rounds are played.
    """

    make: Make
    held_by: tuple[str, ...]
    fix: str = ""
    torch: bool = False
    rounds: int = 30

    @property
    def name(self) -> str:
        """The name of the function that makes it."""
        return self.make.__name__


def work(amount: int = 60_000) -> int:
    """Do the rest of a round: a few milliseconds of arithmetic."""
    return sum(number * number for number in range(amount))
