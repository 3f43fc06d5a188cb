"""What is known of the process from look to look, and what is still open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from leakguard.capture.packed import PackedCounts
from leakguard.capture.recorder import Observation
from leakguard.live.gains import classes_gained, has_gained, has_gained_much
from leakguard.live.heights import Heights
from leakguard.live.policy import MEASURED_FIRST, Dates
from leakguard.model import Census, TypeCount


@dataclass(slots=True)
class _Counts:
    """What a look counted, the memory in bytes that the guard held, and the generation.

    There are two of them from the beginning on: one that came with a later look would be growth.
    """

    of: PackedCounts = field(default_factory=lambda: PackedCounts({}))
    own: int = 0
    index: int = 0
    known: bool = False

    def take(self, census: Census, own: int, index: int) -> None:
        """Take the counts of a look."""
        self.of, self.own, self.index, self.known = PackedCounts(census.types), own, index, True


@dataclass(slots=True)
class Inquiry:
    """Follows the numbers of each generation, and the counts of each look.

    Attributes:
        follows: returns whether objects that were gained count as growth before the last look.
        dates: when the next look is due.
        grows: the last look counted more objects than the one before.
        owing: this growth still needs a look at holders.
    """

    follows: Callable[[], bool] = lambda: True
    dates: Dates = field(default_factory=Dates)
    grows: bool = False
    owing: bool = False
    _heights: Heights = field(default_factory=Heights)
    _looked: bool = False
    _first: _Counts = field(default_factory=_Counts)
    _latest: _Counts = field(default_factory=_Counts)
    _compared: bool = False
    # One object from the beginning on: a list of names would be one list more at a later look.
    _gained: bytes = field(default_factory=lambda: _packed(()))

    @property
    def suspects(self) -> Sequence[str]:
        """The classes that the last look counted more of, those with most new instances first."""
        names = self._gained.decode(errors="surrogatepass").split("\n")
        return [name for name in names if name]

    @property
    def rises(self) -> bool:
        """True while the cheap numbers reach new maxima, about as often as there is a look."""
        return self._heights.quiet <= self.dates.distance

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds what is known of the types."""
        return sum(counts.of.held_bytes for counts in (self._first, self._latest) if counts.known)

    def note_numbers(self, index: int, metrics: Mapping[str, int | float]) -> None:
        """Record the cheap numbers at a generation's end; a rise makes a look due at once."""
        looked, self._looked = self._looked, False
        if self._heights.note(metrics, looked=looked):
            self.dates.begin(index)

    def note(self, seen: Observation, own: int, index: int | None = None) -> None:
        """Record what a look counted at the end of the generation ``index``; None after the loop.

        ``own`` is the memory in bytes that the guard holds.
        """
        if seen.census is not None:
            gains = self._gains(seen.census, own, index) and self.follows()
            self.grows = gains or bool(seen.too_many)

    def begin_counting(self, census: Census, own: int, index: int = 0) -> None:
        """Record the counts from which growth is measured."""
        self._first.take(census, own, index)
        self._latest.take(census, own, index)
        self._compared = False

    def _gains(self, census: Census, own: int, index: int | None) -> bool:
        """Return whether there is more than at the look before; False at the first one."""
        latest = self._latest
        at = latest.index if index is None else index
        if not self._first.known:
            self.begin_counting(census, own, at)
            return False
        self._compared = True
        change = latest.of.change_to(census.types) if latest.known else {}
        taken, passed, known = own - latest.own, at - latest.index, latest.known
        latest.take(census, own, at)
        self._gained = _packed(classes_gained(change))
        return known and has_gained(change, taken, passed)

    def looked(self, index: int) -> None:
        """Note that a look was taken at the end of a generation."""
        self._looked = True
        self.dates.met(index)

    def passed_over(self, index: int) -> None:
        """Note that a look was left out, because it would have found nothing new."""
        self.dates.met(index)

    def collected(self) -> None:
        """Begin anew after a collection, which freed much; the next look shows what makes it."""
        self._latest.known = False
        self.grows = True

    def has_gained(self, begun: Census | None, now: Census | None, own: int, length: int) -> bool:
        """Return whether there is more than at the first look; True if that is unknown.

        What came between the start of the run, with its census ``begun``, and the first look is the
        program's setup and the guard's. If there was no look before this one, it counts: nothing
        else is known. ``own`` is the memory in bytes that the guard holds, and ``length`` the
        number of generations.
        """
        since = self._since_first(begun, now, own, length)
        return since is None or self.grows or has_gained(*since)

    def has_gained_much(
        self, begun: Census | None, now: Census | None, own: int, length: int
    ) -> bool:
        """Return whether so much was gained that who holds it is asked whatever it costs.

        The arguments are those of ``has_gained``. If it is unknown, it is True of a short loop: its
        births cannot show either that nothing stays.
        """
        since = self._since_first(begun, now, own, length)
        return length < MEASURED_FIRST if since is None else has_gained_much(*since)

    def _since_first(
        self, begun: Census | None, now: Census | None, own: int, length: int
    ) -> tuple[Mapping[str, TypeCount], int, int] | None:
        """Return the change since the first look, the guard's part of it, and the generations."""
        if now is None:
            return None
        if self._first.known and self._compared:
            counted, before, since = self._first.of, self._first.own, self._first.index
        elif begun is not None:
            counted, before, since = PackedCounts(begun.types), 0, 0
        else:
            return None
        return counted.change_to(now.types), own - before, length - since

    def has_let_go(self, metrics: Mapping[str, int | float]) -> bool:
        """Return whether most of the gain was freed since the last generation's end."""
        return self._heights.has_let_go(metrics)


def _packed(names: Sequence[str]) -> bytes:
    """Return names as one object of two bytes or more: of shorter ones there is one in all."""
    return "\n".join(("", "", "", *names)).encode(errors="surrogatepass")
