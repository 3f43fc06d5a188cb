"""One round of the watched loop: how often each phase ran in it, and what each added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from leakguard.model import PhaseTotal

_SNAPSHOTS_A_PHASE = 16


@dataclass(slots=True)
class _Tally:
    entered: int = 0
    left: int = 0
    seconds: float = 0.0
    change: dict[str, int | float] = field(default_factory=dict)


@dataclass(slots=True)
class Round:
    """The generation that is running; ``index`` counts rounds from 0, ``number`` is the user's.

    ``deep`` says whether a census is taken at the end of this round, ``phases_deep`` whether its
    phases are looked at with one too. A phase that runs many times in a round is looked at once,
    each round at another of its runs, and writes at most 16 snapshots.
    """

    index: int | None = None
    number: int | None = None
    deep: bool = True
    phases_deep: bool = True
    previous: Mapping[str, int] = field(default_factory=dict)
    _tallies: dict[str, _Tally] = field(default_factory=dict)

    def enter(self, phase: str) -> tuple[bool, bool]:
        """Count one entry of ``phase``; return (write a snapshot, look at it in depth)."""
        tally = self._tallies.setdefault(phase, _Tally())
        tally.entered += 1
        expected = self.previous.get(phase, 1)
        chosen = 1 + (self.index or 0) % max(expected, 1)
        look = self.phases_deep and tally.entered == chosen
        return look or tally.entered <= _SNAPSHOTS_A_PHASE, look

    def leave(
        self,
        phase: str,
        seconds: float,
        before: Mapping[str, int | float],
        after: Mapping[str, int | float],
    ) -> None:
        """Add what one run of ``phase`` changed."""
        tally = self._tallies.setdefault(phase, _Tally())
        tally.left += 1
        tally.seconds += seconds
        for name in before.keys() & after.keys():
            tally.change[name] = tally.change.get(name, 0) + after[name] - before[name]

    def totals(self) -> dict[str, PhaseTotal]:
        """Return what each phase that ended in this round added."""
        return {
            phase: PhaseTotal(tally.left, tally.seconds, tally.change)
            for phase, tally in self._tallies.items()
            if tally.left
        }

    def counts(self) -> dict[str, int]:
        """Return how often each phase was entered."""
        return {phase: tally.entered for phase, tally in self._tallies.items()}

    def after(self) -> Round:
        """Return the stretch between this round and the next, which still knows these counts."""
        between = Round()
        for phase, tally in self._tallies.items():
            between._tallies[phase] = _Tally(entered=tally.entered)
        return between
