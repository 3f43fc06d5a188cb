"""In which rounds Python's small blocks are recorded, so that their calls keep to their price."""

from __future__ import annotations

import math
import random

# Seconds of CPU time for the call of an allocation, measured (reports/births/overhead.md).
_SECONDS_A_BLOCK = 1.2e-9
# CPU seconds that the calls may cost in any run, as looks may.
_FREE_SECONDS = 0.3
# CPU seconds over which the price of a second is averaged: one short round has few samples.
_MEMORY = 1.0
# Rounds of which one is recorded at least.
_ONE_ROUND_OF = 100


class Windows:
    """Records one of so many rounds that the calls cost no more than a share of the run.

    Rounds are taken by so many, and one of them is chosen at random. What is recorded in it stands
    for the others, too: the estimates of the whole stay without bias, and no long stretch of a run
    is left out. A run whose calls are cheap, or which is short, is recorded wholly.
    """

    def __init__(self, most_share: float | None, seed: int) -> None:
        """``most_share`` is of CPU time, beyond what any run may cost; None sets no limit."""
        self._most_share = most_share
        self._random = random.Random(seed)
        self._blocks = self._price = 0.0
        self._free = _FREE_SECONDS
        self._rounds = 1
        self._at = self._chosen = 0

    def next(self, blocks: float, seconds: float, recorded: bool) -> int:
        """Return 0 where the round that begins is left out, else of how many it is the one.

        Args:
            blocks: small blocks that were handed out while they were recorded, since the start.
            seconds: CPU time of the round that ends.
            recorded: whether small blocks were recorded in it.
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
        """Return of how many rounds one is recorded from now on."""
        if self._most_share is None or self._free > 0:
            return 1
        return max(1, min(math.ceil(self._price / self._most_share), _ONE_ROUND_OF))
