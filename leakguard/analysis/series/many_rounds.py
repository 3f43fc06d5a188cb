"""What 13 and more rounds can say: growth is believed when every healthy explanation is rejected.

Set-up and spikes are put aside, a sawtooth or an even staircase is taken out, and what is left is
explained: a level that wanders, steps, a fill, a saturation, or growth. How much worse than growth
a healthy explanation must score depends on how common it is in healthy programs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from leakguard.analysis.series import change_point, saturation, theil_sen
from leakguard.analysis.series.explanation import Fit, Kind
from leakguard.analysis.series.few_rounds import judge_few
from leakguard.analysis.series.rounds import Rounds
from leakguard.analysis.series.sawtooth import even_rises, find_teeth
from leakguard.analysis.series.verdict import Growing, Plateau, SeriesVerdict, Shape
from leakguard.analysis.series.weighing import MARGIN, Weighing

FEWEST = 13

_PLAIN: dict[Kind, str] = {
    "wandering": "a level that wanders",
    "step": "a single step",
    "two steps": "two steps",
    "several steps": "a few steps",
    "fill": "a buffer that is full",
    "saturation": "a warm-up or a cache that saturates",
    "step and saturation": "a step beside a warm-up",
    "slow saturation": "a slow saturation",
    "endless saturation": "a saturation slower than the run",
}
# A change during set-up dwarfs all later ones by this factor.
_DWARFS = 1.5
# So many changes that each top the one before are no chance (once in 2^6 6! times).
_EVER_LARGER = 6
# A warm-up is over well before the end; what takes longer is filling.
_WARM_UP = 0.2
# Still filling at the end: better than growth, and yet not over.
_UNFINISHED: tuple[Kind, ...] = ("slow saturation", "endless saturation")
# A buffer is known to be full after this many rounds.
_FULL = 5
# A step that is so few rounds old may be the start of growth.
_RISEN = 4
_EVEN_RISES = 3
_ROUNDING = 1e-6
_HORIZON = 400


def judge_many(rounds: Rounds, warmup: int) -> SeriesVerdict:
    """Return the verdict on a series of at least 13 values that are not all equal."""
    return (
        _after_set_up(rounds, warmup)
        or _never_grew(rounds)
        or _accelerates(rounds)
        or _explained(rounds)
    )


def _after_set_up(rounds: Rounds, warmup: int) -> SeriesVerdict | None:
    """What set-up did in the first rounds says nothing about the rounds after it."""
    later_moves = max(map(abs, rounds.changes[warmup:]))
    first = [i for i, c in enumerate(rounds.changes[:warmup], 1) if abs(c) > _DWARFS * later_moves]
    if not first:
        return None
    later = rounds.since(first[-1])
    change = rounds.describe(later.values[0] - rounds.values[0])
    set_up = f"after a change of {change} in the first {first[-1]} rounds"
    if later.span <= rounds.noise_floor:
        verdict = later.verdict(
            "flat", "no", 0.9, f"it stays at {rounds.describe(later.values[0])}"
        )
    elif len(later) < FEWEST:
        verdict = judge_few(later, 0)
    else:
        verdict = judge_many(later, 0)
    verdict = verdict.after(first[-1], set_up)
    settled = verdict.growing == "no" and verdict.shape in ("flat", "noise")
    rose = later.values[0] > rounds.values[0]
    return replace(verdict, shape="step") if settled and rose else verdict


def _never_grew(rounds: Rounds) -> SeriesVerdict | None:
    """The cheap way out: the last quarter is not above the second and third, nor the first."""
    values, quarter = rounds.values, len(rounds) // 4
    parts = [values[len(values) - (i + 1) * quarter : len(values) - i * quarter] for i in range(4)]
    means = [math.fsum(part) / quarter for part in parts]
    middle = max(means[1:3])
    floor = max(min(parts[1]), min(parts[2]))
    if means[0] > middle or means[0] > means[3] or min(parts[0]) > floor:
        return None
    teeth = find_teeth(values)
    shape: Shape = "sawtooth" if teeth and teeth.falls else _quiet_shape(rounds)
    return rounds.verdict(
        shape,
        "no",
        0.95,
        f"the last {quarter} of {len(rounds)} rounds are at {rounds.describe(means[0])} on "
        f"average, not above the rounds before ({rounds.describe(means[3])} at first)",
        detectable=4.0 * rounds.spread() * math.sqrt(12.0 / len(rounds) ** 3),
    )


def _quiet_shape(rounds: Rounds) -> Shape:
    ordered = sorted(rounds.values)
    high = ordered[-1] - theil_sen.median(ordered)
    if high <= 8.0 * max(rounds.spread(), rounds.noise_floor):
        return "noise"
    return "flat" if rounds.values[0] == ordered[-1] else "transient"


def _accelerates(rounds: Rounds) -> SeriesVerdict | None:
    """Each change tops the one before: nothing that fills up does so."""
    later = rounds.changes[-_EVER_LARGER:]
    if later[0] <= rounds.noise_floor or rounds.values[-1] < max(rounds.values):
        return None
    if not all(b > a for a, b in pairwise(later)):
        return None
    since = len(rounds.changes) - len(later)
    return rounds.verdict(
        "growing",
        "yes",
        0.9,
        f"it grew faster each round for {len(later)} rounds, by {rounds.describe(later[-1])} in "
        "the last",
        since=since,
        detectable=max(rounds.noise_floor, rounds.spread()),
        ruled_out=("filling or warm-up: the changes grow",),
    )


def _explained(rounds: Rounds) -> SeriesVerdict:
    weighing = Weighing(rounds)
    growth = weighing.growth
    if weighing.level or (growth is None and not weighing.doubts):
        return _level(weighing)
    if growth is None or weighing.doubts:
        return _healthy(weighing)
    if weighing.slows(growth):
        return _doubtful(weighing, growth, "filling", "it grows, and ever less")
    if not (weighing.new_high() and weighing.outlives_its_drops()):
        return _doubtful(weighing, growth, "transient", "it rises, and has fallen back before")
    return _leak(weighing, growth)


def _level(weighing: Weighing) -> SeriesVerdict:
    rounds = weighing.rounds
    return rounds.verdict(
        "sawtooth" if weighing.teeth and weighing.teeth.falls else _quiet_shape(rounds),
        "no",
        0.95,
        f"nothing rises in {len(rounds)} rounds beside a regular pattern",
        detectable=max(rounds.noise_floor, _ROUNDING * rounds.span) / len(rounds),
    )


def _leak(weighing: Weighing, growth: Fit) -> SeriesVerdict:
    rounds, since = weighing.rounds, _since(weighing, growth)
    settled = weighing.round_of(weighing.settled(growth))
    rate, interval = weighing.rate(growth)
    began = f"since round {since}" if since else "from the first round on"
    nearest = min(weighing.lead, key=lambda kind: weighing.lead[kind] - MARGIN[kind])
    ahead = weighing.lead[nearest] - MARGIN[nearest]
    return rounds.verdict(
        "growing",
        "yes",
        0.85 + 0.14 * (1.0 - math.exp(-ahead / 8.0)),
        f"it grows by {rounds.describe(rate)} a round {began} ({rounds.describe(interval[0])} to "
        f"{rounds.describe(interval[1])}, {len(rounds) - settled} rounds); {_PLAIN[nearest]} is "
        "the closest healthy explanation and fits worse",
        since=since,
        detectable=weighing.detectable(growth),
        ruled_out=tuple(
            f"{_PLAIN[kind]}: its information criterion is worse by {lead:.1f}"
            for kind, lead in sorted(weighing.lead.items(), key=lambda item: item[1])
        ),
        measured=(rate, interval),
    )


def _since(weighing: Weighing, growth: Fit) -> int:
    """Return the last round before the growth."""
    start = growth.start or 0
    if start and growth.tau is None and growth.end is None:
        reach = len(weighing.values) // 16 + 1
        start = change_point.growth_start(weighing.values, start, reach)
    return weighing.round_of(start) if start else 0


def _doubtful(weighing: Weighing, growth: Fit, shape: Shape, reason: str) -> SeriesVerdict:
    """Growth beats every healthy explanation, and something else speaks against it."""
    rate, interval = weighing.rate(growth)
    return weighing.rounds.verdict(
        shape,
        "cannot tell",
        0.5,
        f"{reason}: {weighing.rounds.describe(rate)} a round of late",
        detectable=weighing.detectable(growth),
        more_rounds=max(_RISEN, len(weighing.values) // 4) * weighing.block,
        measured=(rate, interval),
    )


def _healthy(weighing: Weighing) -> SeriesVerdict:
    """The verdict when a healthy explanation stands."""
    kind = min(weighing.doubts, key=lambda doubt: weighing.lead[doubt])
    fit, lead = weighing.best[kind], weighing.lead[kind]
    over = _over(weighing, kind, fit)
    growing: Growing = "no" if lead < 0.0 and over else "cannot tell"
    shape = _shape(weighing, kind, fit)
    plateau = None if shape == "flat" else _plateau(weighing, kind, fit)
    likely = 1.0 / (1.0 + math.exp(min(50.0, max(-50.0, -0.5 * lead))))
    return weighing.rounds.verdict(
        shape,
        growing,
        1.0 - likely if growing == "no" else min(0.5, max(0.2, likely)),
        _sentence(weighing, kind, over, plateau),
        plateau=plateau,
        detectable=weighing.detectable(fit),
        more_rounds=_more_rounds(weighing) if growing == "cannot tell" else None,
    )


def _over(weighing: Weighing, kind: Kind, fit: Fit) -> bool:
    """Return True when what the explanation says has happened is not still under way."""
    age = len(weighing.values) - max(fit.start or 0, fit.end or 0)
    if "step" in kind:
        return age >= _RISEN and even_rises(weighing.values) < _EVEN_RISES
    if kind == "fill":
        return age >= _FULL
    return kind not in _UNFINISHED


def _shape(weighing: Weighing, kind: Kind, fit: Fit) -> Shape:
    values, quarter = weighing.values, len(weighing.values) // 4
    risen = (math.fsum(values[-quarter:]) - math.fsum(values[:quarter])) / quarter
    came_back = risen < 0.25 * (max(values) - min(values))
    if kind == "wandering" or (kind in ("two steps", "several steps") and came_back):
        sawtooth = weighing.teeth and weighing.teeth.falls
        return "sawtooth" if sawtooth else _quiet_shape(weighing.rounds)
    if risen < 0.0:
        return "flat"
    if "saturation" not in kind:
        return "filling" if kind == "fill" else "step"
    if kind == "step and saturation" and fit.start is not None:
        height = values[fit.start] - values[fit.start - 1]
        if height > 0.5 * (max(values) - min(values)):
            return "step"
    return "warm-up" if (fit.tau or 0.0) <= _WARM_UP * len(values) else "filling"


def _plateau(weighing: Weighing, kind: Kind, fit: Fit) -> Plateau | None:
    values = weighing.values
    if kind == "fill" and fit.end is not None:
        level = math.fsum(values[fit.end :]) / (len(values) - fit.end)
        return Plateau(level, weighing.round_of(fit.end))
    if fit.tau is None or fit.start is not None:
        return None
    curve = saturation.fit(values, fit.tau)
    full = curve.reaches(max(0.05 * abs(curve.amplitude), weighing.rounds.noise_floor))
    return None if full is None else Plateau(curve.plateau, weighing.round_of(full))


def _sentence(weighing: Weighing, kind: Kind, over: bool, plateau: Plateau | None) -> str:
    n, lead = len(weighing.rounds), weighing.lead[kind]
    teeth = " beside the sawtooth" if weighing.teeth and weighing.teeth.falls else ""
    better = "better than growth does" if lead < 0.0 else "about as well as growth does"
    said = f"{_PLAIN[kind]}{teeth} explains these {n} rounds {better}"
    if plateau is not None:
        tense = "reached" if (plateau.round or 0) < n else "expected"
        ends = "" if plateau.round is None else f", {tense} in round {plateau.round}"
        said = f"{said}: a plateau at {weighing.rounds.describe(plateau.value)}{ends}"
    return said if over else f"{said}; it is not over yet"


def _more_rounds(weighing: Weighing) -> int | None:
    """Return how many more rounds would decide at the observed rate."""
    n, growth = len(weighing.values), weighing.growth
    if growth is None:
        return _RISEN
    rate, _ = weighing.rate(growth)
    for length in range(n + 1, n + _HORIZON):
        if rate > weighing.detectable(growth, length):
            slow = weighing.best["slow saturation"].tau or 0.0
            doubt = math.ceil(2.0 * slow) - n if "slow saturation" in weighing.doubts else 0
            return max(length - n, doubt, n // 8) * weighing.block
    return None
