"""The table of pairs, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from regression_tests.benchmarks.packages.outcome import Outcome
from regression_tests.benchmarks.packages.pair import SIDES, Pair

LEGEND = """
Each version runs in an environment of its own: 60 generations of 50 ms of other work and some calls
of what leaks, under the guard as it comes, with memray installed. **kB alone** is what RSS grows by
in a generation without any tool, leaky and fixed, from the 21st generation to the last; a pair
counts only when these two tell it apart (ten kB, and five times the other). **Named**: a finding
that says leak names the right type, the holder, or a line of the package or of the program that
calls it. **Alarm**: leak or suspect.
"""

_COLUMNS = ("pair", "language", "what leaks", "kB alone", "leaky", "judged", "fixed", "source")
HEAD = f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|"


def page(outcomes: Sequence[Outcome], unbuilt: Sequence[str]) -> str:
    """Return the table and its sums."""
    counted = [o for o in outcomes if o.confirmed]
    native = sum(nature(o.pair) == "memory of no object" for o in counted)
    lines = [
        f"{len(counted)} pairs of released versions ({native} lose memory that is no Python "
        f"object's): {sum(o.found for o in counted)} found, {sum(o.named for o in counted)} named; "
        f"{sum(o.alarmed for o in counted)} false alarms on the fixed versions.",
        LEGEND,
        HEAD,
        *map(row, outcomes),
        "",
        *(f"- not built: {reason}" for reason in unbuilt),
    ]
    return "\n".join(lines).rstrip() + "\n"


def row(outcome: Outcome) -> str:
    """Return one pair's row."""
    pair = outcome.pair
    cells = (
        f"{pair.name}: {pair.package} {pair.leaky}, {pair.fixed}",
        pair.language,
        f"{pair.told} ({nature(pair)})",
        " / ".join(f"{outcome.grown[s] / 1000:.0f}" if s in outcome.grown else "-" for s in SIDES),
        outcome.leaky.told,
        judged(outcome),
        outcome.fixed.told,
        pair.source,
    )
    return f"| {' | '.join(cells)} |"


def nature(pair: Pair) -> str:
    """Return what is left behind: held objects, lost ones, or memory that is no object's."""
    if pair.holders:
        return "objects that are held"
    return "objects that nothing holds" if pair.types else "memory of no object"


def judged(outcome: Outcome) -> str:
    """Return the judgement in a few words."""
    if not outcome.confirmed:
        return "not told apart by plain numbers"
    wrong = "found, not named" if outcome.found else "missed"
    return ("right" if outcome.named else wrong) + (", false alarm" if outcome.alarmed else "")
