"""The live samples one by one: the address of each block, and where it was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from leakguard.capture.births.birthplaces import DEVICE, Row, Stacks, birthplaces
from leakguard.capture.stack import Lines
from leakguard.model.births import Birthplace

# Most birthplaces that are reported for one holder. Chosen: several lines may each make a part of
# an entry.
_MOST_PLACES = 4
# Most birthplaces that are reported of what no holder has. Chosen, as for a look at births.
_MOST_PLAIN = 16
_NO_LINES: frozenset[Lines] = frozenset()


class Survivor(NamedTuple):
    """One sampled block: its address, and its row of the birth record."""

    address: int
    row: Row

    @property
    def is_on_device(self) -> bool:
        """Whether it lies on a GPU. Then the program may have freed it."""
        return self.row[3] == DEVICE


def scaled(row: Row, times: float) -> Row:
    """Return a row that stands for so many times as much."""
    stack, round_, phase, kind, samples, size, count, *variances = row
    of_size, of_count = (variance * times**2 for variance in variances)
    return stack, round_, phase, kind, samples, size * times, count * times, of_size, of_count


def thinned(row: Row, times: float) -> Row:
    """Return the row of one of so many like survivors, which stands for all of them."""
    stack, round_, phase, kind, samples, size, count, of_size, of_count = row
    whole, one = size - of_size / size, count - of_count / count
    size, count = times * size, times * count
    of_size, of_count = size * (size - whole), count * (count - one)
    return stack, round_, phase, kind, samples, size, count, of_size, of_count


class Belonging(NamedTuple):
    """A survivor of a holder: its row, and what of the holder's entry it belongs to.

    Attributes:
        row: its row of the birth record.
        constructors: the initializers of the objects that the block is in or behind, from the entry
            on.
        of_entry: the initializers of the entry.
        is_entry: whether the block is the entry itself.
    """

    row: Row
    constructors: frozenset[Lines]
    of_entry: frozenset[Lines]
    is_entry: bool


@dataclass(frozen=True, slots=True)
class Survivors:
    """The live samples of a loop's rounds, with the stacks and phases that give their places."""

    blocks: Sequence[Survivor]
    stacks: Stacks
    phases: Sequence[str]
    rounds: int

    def places(self, blocks: Sequence[Belonging]) -> tuple[Birthplace, ...]:
        """Return where the blocks of a holder were made, with cohorts; most bytes first."""
        found = self._born(blocks)
        made = self._born(filter(self._made_with_entry, blocks))
        samples = {_birth_key(place): place.samples for place in made}
        told = [replace(place, entries=samples.get(_birth_key(place), 0)) for place in found]
        rarer = (place for place in told[_MOST_PLACES:] if place.entries)
        return (*told[:_MOST_PLACES], *islice(rarer, 1))

    def plain(self, blocks: Iterable[Survivor]) -> tuple[Birthplace, ...]:
        """Return the lines that made some blocks of the host, in whatever constructor they lie."""
        rows = ((block.row, _NO_LINES) for block in blocks if not block.is_on_device)
        return birthplaces(rows, self.stacks, self.phases, self.rounds)[:_MOST_PLAIN]

    def _made_with_entry(self, block: Belonging) -> bool:
        """Return whether a block is an entry, or was made while its entry was initialized."""
        return block.is_entry or self.stacks.runs(block.row[0], block.of_entry)

    def _born(self, blocks: Iterable[Belonging]) -> tuple[Birthplace, ...]:
        rows = ((block.row, block.constructors) for block in blocks)
        return birthplaces(rows, self.stacks, self.phases, self.rounds)


def _birth_key(place: Birthplace) -> tuple[str | None, str | None, str, bool, bool]:
    return place.place, place.function, place.phase, place.native, place.device
