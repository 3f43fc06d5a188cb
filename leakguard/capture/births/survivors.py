"""The live samples one by one: the address of each block, and where it was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from leakguard.capture.births.birthplaces import Row, Stacks, birthplaces
from leakguard.model.births import Birthplace

# Most birthplaces that are reported for one holder. Chosen: several lines may each make a part of
# an entry.
_MOST_PLACES = 4


class Survivor(NamedTuple):
    """One sampled block: its address, and its row of the birth record."""

    address: int
    row: Row


@dataclass(frozen=True, slots=True)
class Survivors:
    """The live samples of a loop's rounds, with the stacks and phases that give their places."""

    blocks: Sequence[Survivor]
    stacks: Stacks
    phases: Sequence[str]
    rounds: int

    def places(self, rows: Iterable[Row], entries: Iterable[Row]) -> tuple[Birthplace, ...]:
        """Return where the blocks of these rows were made, with cohorts; most bytes first.

        ``entries`` are those of the rows whose blocks are entries of the holder themselves.
        """
        found = birthplaces(rows, self.stacks, self.phases, self.rounds)
        made = birthplaces(entries, self.stacks, self.phases, self.rounds)
        samples = {_birth_key(place): place.samples for place in made}
        told = [replace(place, entries=samples.get(_birth_key(place), 0)) for place in found]
        rarer = (place for place in told[_MOST_PLACES:] if place.entries)
        return (*told[:_MOST_PLACES], *islice(rarer, 1))


def _birth_key(place: Birthplace) -> tuple[str | None, str | None, str, bool]:
    return place.place, place.function, place.phase, place.native
