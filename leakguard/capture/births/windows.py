"""In which rounds Python's small blocks are recorded, so that their calls keep to their price."""

from __future__ import annotations

import random

# Seconds of CPU time for the call of an allocation, measured (reports/births/overhead.md).
_SECONDS_A_BLOCK = 1.2e-9
# CPU seconds that the calls may cost in any run, as looks may.
_FREE_SECONDS = 0.3
# CPU seconds over which the price of a second is averaged: one short round has few samples.
_MEMORY = 1.0
# Rounds over which what chance has spent too much, or too little, is made good.
_PATIENCE = 4.0


class Windows:
    """Chooses rounds at random, so many that their calls cost no more than a share of the run.

    What is recorded in a round that is one of a share stands for the others, too: the estimates
    of the whole stay without bias. A run whose calls are cheap, or which is short, is recorded
    wholly.

    Attributes:
        share: the probability of the round that was chosen last.
    """

    def __init__(self, most_share: float | None, seed: int) -> None:
        """``most_share`` is of CPU time, beyond what any run may cost; None sets no limit."""
        self._most_share = most_share
        self._random = random.Random(seed)
        self._blocks = 0.0
        self._price = 0.0
        self._free = _FREE_SECONDS
        self._owed = 0.0
        self.share = 1.0

    def next(self, blocks: float, seconds: float, recorded: bool) -> bool:
        """Choose whether the round that begins is recorded.

        Args:
            blocks: small blocks that were handed out while they were recorded, since the start.
            seconds: CPU time of the round that ends.
            recorded: whether small blocks were recorded in it.
        """
        cost = (blocks - self._blocks) * _SECONDS_A_BLOCK
        self._blocks = blocks
        if recorded and seconds > 0:
            weight = min(seconds / _MEMORY, 1.0) if self._price else 1.0
            self._price += weight * (cost / seconds - self._price)
        self.share = self._next_share(cost, seconds)
        return self._random.random() < self.share

    def _next_share(self, cost: float, seconds: float) -> float:
        self._free -= cost
        if self._most_share is None or self._free > 0:
            return 1.0
        self._owed += cost - self._most_share * seconds
        if self._price <= self._most_share:
            return 1.0
        made_good = 1 - self._owed / max(self._price * seconds * _PATIENCE, 1e-12)
        return min(self._most_share / self._price * min(max(made_good, 0.5), 2.0), 1.0)
