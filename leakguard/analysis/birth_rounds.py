"""How the rounds of a run's births lie among its generations.

A round is a generation, each one. In older files it is a recorded generation together with those
that were passed over before it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from leakguard.model import Run, Snapshot
from leakguard.model.residue import generations


class BirthRounds:
    """Counts the rounds and the generations of one run.

    Attributes:
        taken: how many generations each round stands for; empty if each is one.
    """

    def __init__(self, run: Run) -> None:
        """Take a run."""
        self._known = run.generations
        each = _each(run)
        after = _unmeasured_at_end(run)
        self._is_each = any(s.births and s.births.generations for s in run.snapshots)
        self._after = after if self._is_each else int(after > 0)
        # The rounds that are over at the end of each known generation. Those that were left out of
        # a long run lie evenly among the others.
        over = accumulate(each if self._is_each else [1] * len(each))
        last = max(len(each), 1)
        self._over = [rounds + rounds * run.left_out // last for rounds in over]
        self.taken = [] if self._is_each else self._taken(each, after)

    def _taken(self, each: list[int], after: int) -> list[int]:
        if after <= 1 and all(number == 1 for number in each):
            return []
        rounds = self._over[-1] if self._over else 0
        told = [each[round_ * len(each) // rounds] for round_ in range(rounds)]
        return [*told, after] if after else told

    def at(self, snapshot: Snapshot) -> int:
        """Return how many rounds there were at a look."""
        exactly = snapshot.births and snapshot.births.generations
        return exactly or self.until(snapshot.generation)

    def until(self, number: int | None) -> int:
        """Return how many rounds there were by the end of a generation, or of the run."""
        if number is None:
            return (self._over[-1] if self._over else 0) + self._after
        ended = sum(1 for known in self._known if known <= number)
        return self._over[ended - 1] if ended else 0

    def lasted(self, first: int, end: int) -> int:
        """Return how many generations the rounds from ``first`` to before ``end`` stand for."""
        return generations(self.taken, first, end)

    def ran(self, snapshot: Snapshot) -> int:
        """Return how many generations had run at a look."""
        return self.lasted(0, self.at(snapshot))

    def index(self, round_: int) -> int:
        """Return the index of the known generation that a round belongs to."""
        return min(bisect_right(self._over, round_), len(self._known) - 1)

    def generation(self, round_: int) -> int:
        """Return the program's number of a round's generation; rounds are counted from 0."""
        at = self.index(round_)
        number = self._known[at]
        if not self._is_each:
            return number
        before = self._known[at - 1] if at else number - self._over[at]
        return max(number - max(self._over[at] - 1 - round_, 0), before + 1)


def _each(run: Run) -> list[int]:
    """Return for how many generations each known one stands: itself, and those passed over."""
    each = dict.fromkeys(run.generations, 1)
    for snapshot in run.generation_ends():
        if snapshot.generation is not None:
            each[snapshot.generation] = (snapshot.taken or 1) + (snapshot.passed or 0)
    for snapshot in run.snapshots:
        if snapshot.moment == "end" and snapshot.generation is not None and snapshot.passed:
            each[snapshot.generation] = snapshot.passed + 1
    return list(each.values())


def _unmeasured_at_end(run: Run) -> int:
    """Return how many generations ran after the last measured one until the look at the end."""
    ends = [snapshot for snapshot in run.snapshots if snapshot.moment in ("generation", "end")]
    at_end = ends[-1] if ends and ends[-1].moment == "end" else None
    return 0 if at_end is None or at_end.generation is not None else at_end.passed or 0
