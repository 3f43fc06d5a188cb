"""One pair, played: what plain numbers show, what the guard said, and whether it was right."""

from __future__ import annotations

import json
from dataclasses import dataclass

from leakguard.model import Finding
from regression_tests.benchmarks.packages.pair import SIDES, Pair
from regression_tests.benchmarks.packages.said import Said, listen, played, type_name
from regression_tests.benchmarks.playing.player import Player
from regression_tests.benchmarks.sets.packages import entry_of

_SETTLED = 20  # generations after which a program has imported and filled what it will
_PAIRS = "regression_tests/benchmarks/packages/pairs/"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both sides of a pair.

    Attributes:
        grown: bytes of RSS that each side adds in a generation without any tool, by side.
    """

    pair: Pair
    grown: dict[str, float]
    leaky: Said
    fixed: Said

    @property
    def confirmed(self) -> bool:
        """Whether plain numbers tell the two apart: ten kB a generation, five times the other."""
        leaky, fixed = (self.grown.get(side, 0.0) for side in SIDES)
        return leaky >= 10_000 and leaky >= 5 * fixed

    @property
    def found(self) -> bool:
        """Whether the leaky side was called a leak."""
        return bool(self.leaky.leaks)

    @property
    def named(self) -> bool:
        """Whether a leak that was called names the type, the holder or the place."""
        return any(names(finding, self.pair) for finding in self.leaky.leaks)

    @property
    def alarmed(self) -> bool:
        """Whether the fixed side was accused."""
        return bool(self.fixed.accused)

    @property
    def right(self) -> bool:
        """Whether everything is as it should be."""
        failed = self.leaky.failure or self.fixed.failure
        return self.confirmed and self.named and not self.alarmed and not failed


def names(finding: Finding, pair: Pair) -> bool:
    """Return whether a finding names the pair's type, its holder, or a line of package or program.

    The line of the program is any of the exercise's: it is where a user would begin to look.
    """
    holder = finding.held_by or ""
    places = (finding.created_at or "", *finding.created_stack)
    return (
        type_name(finding) in pair.types
        or any(text in holder for text in pair.holders)
        or any(_PAIRS in place or f"/{pair.module}/" in place for place in places)
    )


def play(pair: Pair, player: Player) -> Outcome:
    """Play both sides, alone and under the guard.

    Raises:
        Unbuildable: an environment cannot be made.
    """
    grown = {side: rate for side in SIDES if (rate := _plain(pair, side, player)) is not None}
    said = [listen(player, entry_of(pair, side)) for side in SIDES]
    return Outcome(pair, grown, *said)


def _plain(pair: Pair, side: str, player: Player) -> float | None:
    """Return the bytes of RSS added in a generation; None where the program fails."""
    numbers = played(player, entry_of(pair, side, "plain"))
    if isinstance(numbers, str):
        return None
    late = json.loads(numbers.read_text(encoding="utf-8"))[_SETTLED:]
    return float(late[-1]["rss"] - late[0]["rss"]) / (len(late) - 1)
