"""Growth with pauses: in how many generations something grew, and how long it pauses."""

from __future__ import annotations

from typing import NamedTuple

# A pause may last up to this many generations: what grows in every n-th one is followed.
PATIENCE = 5


class Streak(NamedTuple):
    """``rest`` is the current pause in generations, ``gap`` the longest one before growth."""

    times: int = 0
    rest: int = 0
    gap: int = 0

    @property
    def goes_on(self) -> bool:
        """True while the pause is no longer than earlier ones."""
        return self.times > 0 and self.rest <= self.gap

    def after(self, *, grew: bool, fell: bool) -> Streak:
        """Return the streak one generation later; a fall or too long a pause starts it anew."""
        if grew:
            return Streak(self.times + 1, 0, max(self.gap, self.rest))
        if fell or not self.times or self.rest == PATIENCE:
            return Streak()
        return Streak(self.times, self.rest + 1, self.gap)
