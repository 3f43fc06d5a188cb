"""What 13 and more rounds can say: growth is believed when every healthy explanation is rejected.

Spikes are set aside, a sawtooth or an even staircase is taken out, and what is left is explained: a
level that wanders, steps, a fill, a saturation, or growth. How much worse than growth a healthy
explanation must score depends on how common it is in healthy programs.
"""

from __future__ import annotations

import math

from leakguard.analysis import change_point, noise, saturation, theil_sen
from leakguard.analysis.explanation import Explanations, Fit, Kind
from leakguard.analysis.rounds import Rounds, number
from leakguard.analysis.sawtooth import Teeth, find_teeth, level_cuts
from leakguard.analysis.series_verdict import Growing, Plateau, SeriesVerdict, Shape

LONGEST = 128

# By how much growth must beat a healthy explanation: chosen on the simulated series of the
# benchmark, so that at most one healthy series in a hundred of any row is called a leak.
_MARGIN: dict[Kind, float] = {
    "wandering": 6.0,
    "step": 6.0,
    "two steps": 5.0,
    "several steps": 3.0,
    "fill": 0.0,
    "saturation": 3.0,
    "step and saturation": 3.0,
    "slow saturation": 3.5,
    "endless saturation": -2.0,
}
# Likelihoods of few rounds scatter more: this much over the number of rounds is asked on top.
_FEW_ROUNDS = 60.0
_NOISES: tuple[Kind, ...] = (
    "wandering",
    "step",
    "two steps",
    "several steps",
    "saturation",
    "step and saturation",
)
# So many steps are events; more are a staircase, and a staircase leaks.
_FEW_STEPS = (3, 6)
_CURVES: tuple[Kind, ...] = ("fill", "saturation", "slow saturation", "endless saturation")
# Growth that scores worse than a healthy explanation by this much needs no finer fit.
_BEATEN = -6.0
# A buffer is known to be full after this many rounds.
_FULL = 5
# A step that is so few rounds old may be the start of growth.
_RISEN = 4
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
# A warm-up is over well before the end; what takes longer is filling.
_WARM_UP = 0.2
_HORIZON = 400
# Still filling at the end: better than growth, and yet not over.
_UNFINISHED: tuple[Kind, ...] = ("slow saturation", "endless saturation")


def judge_many(rounds: Rounds) -> SeriesVerdict:
    """Return the verdict on a series of at least 13 values that are not all equal."""
    return _never_grew(rounds) or _explained(rounds)


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
        f"the last {quarter} of {len(rounds)} rounds are at {number(means[0])} on average, not "
        f"above the rounds before ({number(means[3])} at first)",
        detectable=4.0 * rounds.spread() * math.sqrt(12.0 / len(rounds) ** 3),
    )


def _quiet_shape(rounds: Rounds) -> Shape:
    ordered = sorted(rounds.values)
    high = ordered[-1] - theil_sen.median(ordered)
    if high <= 8.0 * max(rounds.spread(), rounds.noise_floor):
        return "noise"
    return "flat" if rounds.values[0] == ordered[-1] else "transient"


def _explained(rounds: Rounds) -> SeriesVerdict:
    case = Case(rounds)
    if case.doubts:
        return _healthy(case)
    return _leak(case)


class Case:
    """A long series with everything that was worked out about it.

    Attributes:
        values: the series in blocks, without spikes and without teeth.
        block: rounds in a block.
        lead: by how much each healthy explanation scores worse than growth.
        doubts: the healthy explanations that growth does not beat by their margin.
    """

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.block = -(-len(rounds) // LONGEST)
        blocks = theil_sen.block_means(rounds.values, self.block)
        self.skipped = len(rounds) - self.block * len(blocks)
        calm = noise.without_spikes(blocks)
        self.teeth: Teeth | None = find_teeth(calm)
        self.values = self.teeth.levelled if self.teeth else calm
        steps = change_point.candidates(self.values)
        self.explanations = Explanations(self.values, steps, used=1 if self.teeth else 0)
        self.growth = self.explanations.best.get("growth")
        self._compare()
        if all(doubt in _CURVES and self.lead[doubt] > _BEATEN for doubt in self.doubts):
            self.explanations.refine()
            cuts = level_cuts(self.values)
            if _FEW_STEPS[0] <= len(cuts) <= _FEW_STEPS[1]:
                self.explanations.offer_steps(cuts)
            self.growth = self.explanations.best.get("growth")
            self._compare()

    def _compare(self) -> None:
        best = self.explanations.best
        limit = math.inf if self.growth is None else self.growth.score
        few = _FEW_ROUNDS / len(self.values)
        self.lead = {
            kind: best[kind].score - limit - (few if kind in _NOISES else 0.0)
            for kind in _MARGIN
            if kind in best
        }
        self.doubts = [kind for kind, lead in self.lead.items() if lead <= _MARGIN[kind]]

    def round_of(self, block: int) -> int:
        """Return the round at which a block starts."""
        return self.skipped + block * self.block

    def error(self, fit: Fit, length: int | None = None) -> float:
        """Return the standard error of a slope under a fit's noise, for a length in blocks."""
        n = len(self.values)
        precision = fit.noise.energy[0]
        scale = 1.0 if length is None else _error_share(fit, n, length)
        return scale * math.sqrt(fit.variance / precision) / self.block


def _error_share(fit: Fit, n: int, length: int) -> float:
    """Return the error of a slope over ``length`` rounds in units of the one over ``n``.

    White noise lets it fall with the power 3/2 of the length, a wandering level with 1/2.
    """
    white = 12.0 / n**3
    wandering = max(0.0, 1.0 / fit.noise.energy[0] - white)
    return math.sqrt((white * (n / length) ** 3 + wandering * n / length) / (white + wandering))


def _leak(case: Case) -> SeriesVerdict:
    rounds, growth = case.rounds, case.growth
    assert growth is not None
    since = _since(case, growth)
    settled = case.round_of(_settled(case, growth))
    rate, interval = _rate(case, growth)
    began = f"since round {since}" if since else "from the first round on"
    nearest = min(case.lead, key=lambda kind: case.lead[kind] - _MARGIN[kind])
    ahead = case.lead[nearest] - _MARGIN[nearest]
    return rounds.verdict(
        "growing",
        "yes",
        0.85 + 0.14 * (1.0 - math.exp(-ahead / 8.0)),
        f"it grows by {number(rate)} a round {began} ({number(interval[0])} to "
        f"{number(interval[1])}, {len(rounds) - settled} rounds); {_PLAIN[nearest]} is the closest "
        "healthy explanation and fits worse",
        since=since,
        detectable=_detectable(case, growth),
        ruled_out=tuple(_ruled_out(case)),
        measured=(rate, interval),
    )


def _ruled_out(case: Case) -> list[str]:
    return [
        f"{_PLAIN[kind]}: its information criterion is worse by {lead:.1f}"
        for kind, lead in sorted(case.lead.items(), key=lambda item: item[1])
    ]


def _since(case: Case, growth: Fit) -> int:
    """Return the last round before the growth."""
    start = growth.start or 0
    if start and growth.tau is None and growth.end is None:
        start = change_point.growth_start(case.values, start, len(case.values) // 16 + 1)
    return case.round_of(start) if start else 0


def _settled(case: Case, growth: Fit) -> int:
    """Return the block from which on nothing but the growth moves the value."""
    n, start = len(case.values), growth.start or 0
    if growth.tau is not None:
        start = max(start, min(math.ceil(4.0 * growth.tau), n // 2))
    if growth.end is not None and growth.end < 0.7 * n:
        start = max(start, growth.end)
    return start


def _rate(case: Case, fit: Fit) -> tuple[float, tuple[float, float]]:
    """Return the slope since the series settled, its interval widened for wandering noise."""
    white = 12.0 / len(case.values) ** 3
    widening = math.sqrt(max(1.0, 1.0 / fit.noise.energy[0] / white))
    rate, (low, high) = theil_sen.rate(case.values[_settled(case, fit) :], widening)
    return rate / case.block, (low / case.block, high / case.block)


def _detectable(case: Case, fit: Fit) -> float:
    return math.sqrt(_MARGIN["wandering"] + math.log(len(case.values))) * case.error(fit)


def _healthy(case: Case) -> SeriesVerdict:
    """The verdict when a healthy explanation stands."""
    kind = min(case.doubts, key=lambda doubt: case.lead[doubt])
    fit, lead = case.explanations.best[kind], case.lead[kind]
    over = _over(case, kind, fit)
    growing: Growing = "no" if lead < 0.0 and over else "cannot tell"
    shape = _shape(case, kind, fit)
    plateau = None if shape == "flat" else _plateau(case, kind, fit)
    likely = 1.0 / (1.0 + math.exp(min(50.0, max(-50.0, -0.5 * lead))))
    return case.rounds.verdict(
        shape,
        growing,
        1.0 - likely if growing == "no" else min(0.5, max(0.2, likely)),
        _sentence(case, kind, over, plateau),
        plateau=plateau,
        detectable=_detectable(case, case.explanations.best["wandering"]),
        more_rounds=_more_rounds(case) if growing == "cannot tell" else None,
    )


def _over(case: Case, kind: Kind, fit: Fit) -> bool:
    """Return True when what the explanation says has happened is not still under way."""
    latest = max(fit.start or 0, fit.end or 0)
    if "step" in kind:
        return len(case.values) - latest >= _RISEN
    if kind == "fill":
        return len(case.values) - latest >= _FULL
    return kind not in _UNFINISHED


def _shape(case: Case, kind: Kind, fit: Fit) -> Shape:
    quarter = len(case.values) // 4
    risen = math.fsum(case.values[-quarter:]) - math.fsum(case.values[:quarter])
    if kind == "wandering" or (kind == "two steps" and _came_back(case)):
        return "sawtooth" if case.teeth and case.teeth.falls else _quiet_shape(case.rounds)
    if risen < 0.0:
        return "flat"
    if kind in ("step", "two steps", "several steps"):
        return "step"
    if kind == "saturation" and fit.tau is not None and fit.tau <= _WARM_UP * len(case.values):
        return "warm-up"
    return "step" if kind == "step and saturation" else "filling"


def _came_back(case: Case) -> bool:
    quarter = len(case.values) // 4
    risen = math.fsum(case.values[-quarter:]) - math.fsum(case.values[:quarter])
    return risen / quarter < 0.25 * (max(case.values) - min(case.values))


def _plateau(case: Case, kind: Kind, fit: Fit) -> Plateau | None:
    if kind == "fill" and fit.end is not None:
        level = math.fsum(case.values[fit.end :]) / (len(case.values) - fit.end)
        return Plateau(level, case.round_of(fit.end))
    if fit.tau is None or fit.start is not None:
        return None
    curve = saturation.fit(case.values, fit.tau)
    full = curve.reaches(max(0.05 * abs(curve.amplitude), case.rounds.noise_floor))
    return None if full is None else Plateau(curve.plateau, case.round_of(full))


def _sentence(case: Case, kind: Kind, over: bool, plateau: Plateau | None) -> str:
    teeth = " beside the sawtooth" if case.teeth and case.teeth.falls else ""
    better = "better than growth does" if case.lead[kind] < 0.0 else "about as well as growth does"
    said = f"{_PLAIN[kind]}{teeth} explains these {len(case.rounds)} rounds {better}"
    if plateau is not None:
        tense = "reached" if (plateau.round or 0) < len(case.rounds) else "expected"
        ends = "" if plateau.round is None else f", {tense} in round {plateau.round}"
        said = f"{said}: a plateau at {number(plateau.value)}{ends}"
    return said if over else f"{said}; it is not over yet"


def _more_rounds(case: Case) -> int | None:
    """Return how many more rounds would decide at the observed rate."""
    n, growth = len(case.values), case.growth
    if growth is None:
        return _RISEN
    rate, _ = _rate(case, growth)
    needed = math.sqrt(_MARGIN["wandering"] + math.log(n))
    for length in range(n + 1, n + _HORIZON):
        if rate > needed * case.error(growth, length):
            slow = case.explanations.best["slow saturation"].tau or 0.0
            doubt = math.ceil(2.0 * slow) - n if "slow saturation" in case.doubts else 0
            return max(length - n, doubt, n // 8) * case.block
    return None
