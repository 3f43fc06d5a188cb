"""Growth with pauses: in how many generations a number grew, and how long its pauses are."""

from __future__ import annotations

from typing import NamedTuple

# Longest pause in generations that does not end a streak. Without it, growth in every n-th
# generation would be missed.
PATIENCE = 5


class Streak(NamedTuple):
    """``times`` is how often it grew, ``rest`` the current pause in generations.

    ``gap`` is the longest pause that was followed by growth.
    """

    times: int = 0
    rest: int = 0
    gap: int = 0

    @property
    def goes_on(self) -> bool:
        """True while the current pause is no longer than the longest earlier pause."""
        return self.times > 0 and self.rest <= self.gap

    def after(self, *, grew: bool, fell: bool) -> Streak:
        """Return the streak one generation later; a fall or a too long pause resets it."""
        if grew:
            return Streak(self.times + 1, 0, max(self.gap, self.rest))
        if fell or not self.times or self.rest == PATIENCE:
            return Streak()
        return Streak(self.times, self.rest + 1, self.gap)
