"""What is known of the process from look to look, and what is still open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from leakguard.capture.recorder import Observation
from leakguard.live.heights import Heights
from leakguard.live.policy import Dates
from leakguard.live.suspicion import Suspicion, has_gained
from leakguard.model import Census


@dataclass(slots=True)
class Inquiry:
    """Follows the numbers of each generation, and the counts of each look.

    Attributes:
        types: what makes the growth of a type suspicious.
        dates: when the next look is due.
        grows: objects grew at the last look.
        swells: memory or backward graphs grew.
        climbs: memory in use grew since the look before.
        owing: this growth still needs a look at holders.
    """

    types: Suspicion = field(default_factory=Suspicion)
    dates: Dates = field(default_factory=Dates)
    grows: bool = False
    swells: bool = False
    climbs: bool = False
    owing: bool = False
    _heights: Heights = field(default_factory=Heights)
    _looked: bool = False

    @property
    def rises(self) -> bool:
        """True while the cheap numbers reach new maxima, about as often as there is a look."""
        return self._heights.quiet <= self.dates.distance

    @property
    def is_open(self) -> bool:
        """True while objects or memory grow, so that only a look shows what it is."""
        return self.grows or self.swells or self.climbs

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds what is known of the types."""
        return self.types.held_bytes

    def note_numbers(self, index: int, metrics: Mapping[str, int | float]) -> None:
        """Record the cheap numbers at a generation's end; a rise makes a look due at once."""
        looked, self._looked = self._looked, False
        if self._heights.note(metrics, looked=looked):
            self.dates.begin(index)

    def note(self, seen: Observation, index: int | None = None) -> None:
        """Record what a look saw at the end of the generation ``index``; None after the loop.

        New growth makes looks due soon.
        """
        grew = self.grows
        self._note_memory(seen)
        if seen.census is not None:
            self._note_types(seen.census, int(seen.metrics.get("children", 0)))
            self.grows = self.grows or bool(seen.too_many)
        if index is not None and self.grows and not grew:
            self.dates.begin(index)

    def _note_memory(self, seen: Observation) -> None:
        memory = seen.anonymous_in_use
        if memory is None:
            return
        self.swells = self.types.note_memory(memory)
        if seen.census is not None:
            # Between looks that are far apart, the free parts of pages may change by more bytes
            # than a leak adds. So bytes in use are compared, and not pages.
            in_use = memory if seen.in_use is None else seen.in_use
            self.climbs = self.types.note_memory_at_look(in_use)

    def _note_types(self, census: Census, children: int) -> None:
        self.swells |= self.types.note_graphs(census.types)
        objects = self.types.note(census.types)
        self.grows = self.types.note_children(children) or objects

    def looked(self, index: int) -> None:
        """Note that a look was taken at the end of a generation."""
        self._looked = True
        self.dates.met(index)

    def passed_over(self, index: int) -> None:
        """Note that a look was left out, because it would have found nothing new."""
        self.dates.met(index)

    def suspects(self) -> Sequence[str]:
        """Return the types that grow, those with most instances first; none if nothing grows."""
        return self.types.suspects() if self.grows else ()

    def collected(self) -> None:
        """Begin anew after a collection, which freed much; the next look shows what makes it."""
        self.types.begin_again()
        self.grows = True

    def has_gained(self, first: Census | None, now: Census | None, own: int, length: int) -> bool:
        """Return whether there is more than at the first look; True if that is unknown.

        ``own`` is the memory in bytes that the guard has taken since, and ``length`` the number of
        generations.
        """
        if first is None or now is None or self.is_open:
            return True
        return has_gained(first, now, own, length)

    def has_let_go(self, metrics: Mapping[str, int | float]) -> bool:
        """Return whether most of the gain was freed since the last generation's end."""
        return self._heights.has_let_go(metrics)
