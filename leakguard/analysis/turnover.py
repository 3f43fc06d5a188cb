"""Whether what old generations left behind dies after all: a cache replaces it, a leak keeps it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from leakguard.analysis.tolerance import MAJORITY
from leakguard.model import Snapshot
from leakguard.model.births import Birthplace, Cohort
from leakguard.model.residue import SURELY_ONE

#: A line, its function, its phase, and whether C code allocated.
_Line: TypeAlias = tuple[str | None, str | None, str, bool]


class _Remaining(NamedTuple):
    """What is alive of some cohorts at a look."""

    bytes: float
    samples: int


class Turnover:
    """The looks at births during one loop, from which the deaths of old cohorts are read."""

    def __init__(
        self,
        snapshots: Iterable[Snapshot],
        rounds_at: Callable[[Snapshot], int],
        lasted: Callable[[int, int], int],
    ) -> None:
        """Take the run's snapshots, and what counts its rounds and the generations of rounds.

        The look after the loop is left out: what the loop used is dead by then.
        """
        self._rounds_at = rounds_at
        self._lasted = lasted
        self._looks = [s for s in snapshots if s.births is not None and s.generation is not None]

    def replaces(self, born: Sequence[Birthplace], since: int) -> bool:
        """Return whether these lines replace what they left since a round within as many rounds.

        Two looks see the same samples, so that each one that the later look lacks has died. Those
        of the older half of the rounds are asked for. They are replaced if at least as many have
        died as if each had a mean life as long as the lines have left something. The latest of the
        earlier looks decides from which on so many deaths would surely be seen. Lines of which most
        is alive elsewhere, or that the last look has not listed, say nothing of these births.
        """
        if not self._looks:
            return False
        *earlier, last = self._looks
        alive = _bytes_by_line(() if last.births is None else last.births.places)
        mine = _bytes_by_line(born).items()
        lines = {line for line, size in mine if size >= MAJORITY * alive.get(line, math.inf)}
        end, at_last = self._rounds_at(last), _cohorts(last, lines)
        whole = max(self._lasted(since, end), 1)
        for look in reversed(earlier):
            rounds, at_look = self._rounds_at(look), _cohorts(look, lines)
            width = max((c.rounds for c in (*at_look, *at_last)), default=1)
            # Both looks put these rounds into cohorts that begin and end alike.
            first = -(-since // width) * width
            half = (since + rounds) // 2 // width * width
            before, after = _remaining(at_look, first, half), _remaining(at_last, first, half)
            left = math.exp(-self._lasted(rounds, end) / whole)
            if before.samples * (1 - left) >= SURELY_ONE:
                return after.samples <= left * before.samples and after.bytes <= left * before.bytes
        return False


def _line_and_phase(place: Birthplace) -> _Line:
    return place.place, place.function, place.phase, place.native


def _bytes_by_line(places: Iterable[Birthplace]) -> dict[_Line, float]:
    sizes: defaultdict[_Line, float] = defaultdict(float)
    for place in places:
        sizes[_line_and_phase(place)] += place.bytes
    return sizes


def _cohorts(look: Snapshot, lines: set[_Line]) -> list[Cohort]:
    places = () if look.births is None else look.births.places
    return [
        cohort for place in places if _line_and_phase(place) in lines for cohort in place.cohorts
    ]


def _remaining(cohorts: Iterable[Cohort], first: int, end: int) -> _Remaining:
    its = [c for c in cohorts if first <= c.round and c.round + c.rounds <= end]
    return _Remaining(math.fsum(c.bytes for c in its), sum(c.samples for c in its))
