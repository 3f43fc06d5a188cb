"""Growth that may rest: in how many rounds something grew, and how long it pauses in between."""

from __future__ import annotations

from typing import NamedTuple

# Something that grows in every n-th round only is followed up to this many rounds of rest.
PATIENCE = 5


class Streak(NamedTuple):
    """``rest`` is how many rounds ago it grew last, ``gap`` the longest rest before growth."""

    times: int = 0
    rest: int = 0
    gap: int = 0

    @property
    def goes_on(self) -> bool:
        """True while it rests no longer than it did before."""
        return self.times > 0 and self.rest <= self.gap

    def after(self, *, grew: bool, fell: bool) -> Streak:
        """Return the streak one round later; what falls, or rests for too long, begins anew."""
        if grew:
            return Streak(self.times + 1, 0, max(self.gap, self.rest))
        if fell or not self.times or self.rest == PATIENCE:
            return Streak()
        return Streak(self.times, self.rest + 1, self.gap)
