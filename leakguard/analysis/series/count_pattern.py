"""Counts that speak for themselves, however many rounds there are: integers don't lie.

They stopped for good, they grow by the same number at even distances, or by the same each round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series import changes as change
from leakguard.analysis.series.rounds import Rounds
from leakguard.analysis.series.theil_sen import median
from leakguard.analysis.series.verdict import Plateau, SeriesVerdict, Shape

_DOMINATES = 0.8
_FEWEST_RISES = 3
_FEWEST_EXACT = 4
_SET_UP = 2
_EVENTS = 2
# Sizes of the rises of a staircase differ by this factor at most.
_ALIKE = 1.5


def count_pattern(rounds: Rounds) -> SeriesVerdict | None:
    """Return the verdict on counts with a plain pattern, None for others."""
    return stopped(rounds, _rest(rounds)) or _staircase(rounds) or _exact(rounds)


def stopped(rounds: Rounds, rest: int) -> SeriesVerdict | None:
    """Return the verdict on a series that grew and has then stood still for ``rest`` rounds.

    None where the rest is too short to say so.
    """
    last = len(rounds.changes) - rest
    if rest < 2 or last < 1 or rounds.values[-1] <= rounds.values[0]:
        return None
    if change.significant(rounds.changes[-rest:], rounds):
        return None
    shape: Shape = "step" if one_dominates(rounds.changes) else "filling"
    enough = rest > 2 or shape == "step"
    return rounds.verdict(
        shape,
        "no" if enough else "cannot tell",
        0.6 + 0.1 * min(rest, 3) if enough else 0.3,
        f"it went from {rounds.describe(rounds.values[0])} to "
        f"{rounds.describe(rounds.values[last])} and the {rest} rounds since add "
        f"{rounds.describe(rounds.values[-1] - rounds.values[last])}",
        plateau=Plateau(rounds.values[-1], last) if shape == "filling" else None,
        detectable=change.detectable(rounds.changes[-rest:], rounds),
        more_rounds=None if enough else 1,
    )


def one_dominates(changes: Sequence[float]) -> bool:
    """Return True when one rise is nearly all of them."""
    rises = [change for change in changes if change > 0.0]
    return bool(rises) and max(rises) >= _DOMINATES * math.fsum(rises)


def _rest(rounds: Rounds) -> int:
    """Return how many rounds a count has stood still, 0 when it paused as long before."""
    moved = [i for i, change in enumerate(rounds.changes) if change]
    if not moved:
        return 0
    pauses = [b - a - 1 for a, b in pairwise((-1, *moved))]
    rest = len(rounds.changes) - 1 - moved[-1]
    return rest if rest > max(pauses) else 0


def _staircase(rounds: Rounds) -> SeriesVerdict | None:
    """Counts that rise now and then: at even distances that is growth, after three rises."""
    rises = [i for i, change in enumerate(rounds.changes, 1) if change]
    if len(rises) < 2 or min(rounds.changes) < 0.0:
        return None
    gaps = [b - a for a, b in pairwise(rises)]
    longest, idle = max(gaps), len(rounds) - 1 - rises[-1]
    uneven = min(gaps) < 2 or longest - min(gaps) > 1
    if uneven or idle > longest or rises[0] > longest + 1:
        return None
    sizes = [rounds.changes[i - 1] for i in rises]
    if max(sizes) > _ALIKE * min(sizes):
        return None
    every = f"it grew by {rounds.describe(sizes[-1])} at every {median(sorted(gaps)):g} rounds"
    if len(rises) < _FEWEST_RISES:
        return rounds.verdict(
            "growing", "cannot tell", 0.4, f"{every}, twice so far: a third time would tell",
            more_rounds=max(1, longest - idle),
        )  # fmt: skip
    return rounds.verdict(
        "growing",
        "yes",
        1.0 - 0.75 / len(rises),
        f"{every}, {len(rises)} times",
        since=rises[0] - 1,
        detectable=min(sizes) / longest,
    )


def _exact(rounds: Rounds) -> SeriesVerdict | None:
    """Counts that stood still, or not, and now grow by the same number each round.

    A jump or two on the way, as when modules are imported, does not hide what all others say.
    """
    changes, step = rounds.changes, rounds.changes[-1]
    run = next((i for i, c in enumerate(reversed(changes)) if c != step), len(changes))
    since = len(changes) - run
    if run < _FEWEST_EXACT or step <= 0.0:
        return None
    before = changes[_SET_UP:since]
    events = [c for c in before if c != step]
    if any(before) and (len(events) > _EVENTS or min(before) < step):
        return None
    if events:
        since = next(i for i, c in enumerate(changes) if c == step)
    chance = change.chance(changes[-run:], rounds)
    if chance > change.RISK:
        return None
    same = sum(c == step for c in changes[since:])
    return rounds.verdict(
        "growing",
        "yes",
        (1.0 - 0.8 / run) * (1.0 - 10.0 * chance),
        f"it grew by exactly {rounds.describe(step)} in {same} of the last "
        f"{len(changes) - since} rounds",
        since=change.growing_since(changes, since, step),
        measured=(step, (step, step)),
        detectable=change.detectable(changes[-run:], rounds),
        ruled_out=("filling or warm-up: the changes do not shrink",),
    )
