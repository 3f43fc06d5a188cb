"""One pair, played: what plain numbers show, what the guard said, and whether it was right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from leakguard.model import Finding
from regression_tests.benchmarks.packages.environment import environment
from regression_tests.benchmarks.packages.pair import Pair
from regression_tests.benchmarks.packages.said import Said, failure_of, listen, type_name

SIDES = ("leaky", "fixed")
_CHILD = "regression_tests.benchmarks.packages.child"
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


def play(pair: Pair, runs: Path) -> Outcome:
    """Play both sides, alone and under the guard.

    Raises:
        Unbuildable: an environment cannot be made.
    """
    grown = {side: rate for side in SIDES if (rate := _plain(pair, side, runs)) is not None}
    said = [listen(*_command(pair, side, "guarded", runs)) for side in SIDES]
    return Outcome(pair, grown, *said)


def _plain(pair: Pair, side: str, runs: Path) -> float | None:
    """Return the bytes of RSS added in a generation; None where the program fails."""
    command, out = _command(pair, side, "plain", runs)
    if failure_of(command, runs) is not None:
        return None
    rows = json.loads(out.read_text(encoding="utf-8"))
    late = rows[_SETTLED:]
    return float(late[-1]["rss"] - late[0]["rss"]) / (len(late) - 1)


def _command(pair: Pair, side: str, mode: str, runs: Path) -> tuple[list[str], Path]:
    out = runs / f"{pair.name}-{side}-{mode}.jsonl"
    where = environment(pair.python, pair.requirements(side))
    return where.module(_CHILD, mode, pair.name, str(out)), out
