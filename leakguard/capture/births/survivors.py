"""The samples that are alive, one by one: where each block lies, and where it was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from leakguard.capture.births.birthplaces import Frames, Row, birthplaces
from leakguard.model.births import Birthplace

# Places that are told of one holder: several lines make an entry, and each its part of it.
_MOST_PLACES = 4


class Survivor(NamedTuple):
    """One sampled block: its address, and the row that it adds to what is told of its birth."""

    address: int
    domain: int
    row: Row


@dataclass(frozen=True, slots=True)
class Survivors:
    """The samples of a loop's rounds that are alive, with what is needed to tell their places."""

    blocks: Sequence[Survivor]
    stacks: Mapping[int, Frames]
    phases: Sequence[str]
    rounds: int

    def places(self, rows: Iterable[Row]) -> tuple[Birthplace, ...]:
        """Return where the blocks of these rows were made, with their cohorts, the most first."""
        found = birthplaces(rows, self.stacks, self.phases, self.rounds)
        return found[:_MOST_PLACES]
