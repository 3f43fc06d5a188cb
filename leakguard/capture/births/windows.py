"""Chooses the rounds in which Python's small blocks are recorded, to limit the cost."""

from __future__ import annotations

import math
import random

# CPU seconds that recording costs per allocated small block. Measured (reports/births/overhead.md).
_SECONDS_A_BLOCK = 1.2e-9
# CPU seconds that recording may cost in each run before rounds are left out. Chosen: as many as
# measuring the first generations may (``live.numbers``).
_FREE_SECONDS = 0.3
# The cost of recording per CPU second is averaged over about this many CPU seconds. Chosen: the
# cost varies much from one short round to the next.
_MEMORY = 1.0
# At least one of this many rounds is recorded, however expensive recording is. Chosen.
_ONE_ROUND_OF = 100


class Windows:
    """Records one of every n rounds, with n such that the calls cost at most a share of the run.

    In each group of n rounds, one is chosen at random and weighted for the others. So the
    estimates for the whole run stay unbiased, and no long stretch of a run is left out. A run that
    is short, or whose calls are cheap, is recorded completely.
    """

    def __init__(self, most_share: float | None, seed: int) -> None:
        """``most_share`` is the share of CPU time that the calls may cost; None sets no limit.

        The limit applies after the calls have cost ``_FREE_SECONDS``.
        """
        self._most_share = most_share
        self._random = random.Random(seed)
        self._blocks = self._price = 0.0
        self._free = _FREE_SECONDS
        self._rounds = 1
        self._at = self._chosen = 0

    def next(self, blocks: float, seconds: float, recorded: bool) -> int:
        """Return 0 if the next round is left out; else the number of rounds it is weighted for.

        Args:
            blocks: number of small blocks allocated since the start in rounds that were recorded.
            seconds: CPU time of the round that ends.
            recorded: whether small blocks were recorded in the round that ends.
        """
        cost = (blocks - self._blocks) * _SECONDS_A_BLOCK
        self._blocks = blocks
        self._free -= cost
        if recorded and seconds > 0:
            weight = min(seconds / _MEMORY, 1.0) if self._price else 1.0
            self._price += weight * (cost / seconds - self._price)
        self._at += 1
        if self._at >= self._rounds:
            self._at, self._rounds = 0, self._rounds_of_one()
            self._chosen = self._random.randrange(self._rounds)
        return self._rounds if self._at == self._chosen else 0

    def _rounds_of_one(self) -> int:
        """Return the size of the next group of rounds, of which one is recorded."""
        if self._most_share is None or self._free > 0:
            return 1
        return max(1, min(math.ceil(self._price / self._most_share), _ONE_ROUND_OF))
