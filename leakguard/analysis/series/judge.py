"""What kind of series is this: growing, filling, warming up, a step, a sawtooth, or noise?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from leakguard.analysis.series.count_pattern import count_pattern
from leakguard.analysis.series.few_rounds import judge_few
from leakguard.analysis.series.many_rounds import judge_many
from leakguard.analysis.series.rounds import Rounds
from leakguard.analysis.series.spacing import Spacing
from leakguard.analysis.series.verdict import Plateau, SeriesVerdict
from leakguard.model.units import format_number

_FEWEST = 3
_SMALLEST, _LARGEST = 1e-60, 1e60
_FEW = 12


def judge_series(
    values: Sequence[float],
    *,
    at: Sequence[float] | None = None,
    integer: bool = False,
    noise_floor: float = 0.0,
    capacity: float | None = None,
    warmup: int = 2,
    describe: Callable[[float], str] = format_number,
) -> SeriesVerdict:
    """Return what kind of series ``values`` is.

    Args:
        values: finite numbers, in any unit; one a generation, oldest first, where ``at`` is None.
        at: the generation of each value, any number of generations apart and in any order. Rates
            are a generation, and ``started``, ``stopped`` and a plateau's round are generations.
        integer: the values are counts, exact to one.
        noise_floor: a move of a value by less than this means nothing (a page, a block).
        capacity: the value at which the series is known to stop, in its own unit.
        warmup: how many changes at the start may be left out as warm-up.
        describe: how a value is written in the reason, for example ``format_bytes``.

    Raises:
        ValueError: for a value that is not finite, a negative noise floor or warm-up, or
            generations that are not one for each value, finite and different.
    """
    if at is not None:
        spacing = Spacing(at)
        verdict = judge_series(
            spacing.evenly(values),
            integer=integer and spacing.is_even,
            noise_floor=noise_floor,
            capacity=capacity,
            warmup=warmup,
            describe=describe,
        )
        return spacing.in_generations(verdict)
    series = _checked(values, noise_floor, warmup)
    unit = _unit(series)
    if unit != 1.0:
        scaled = [value / unit for value in series]
        limit = None if capacity is None else capacity / unit
        verdict = judge_series(
            scaled,
            noise_floor=noise_floor / unit,
            capacity=limit,
            warmup=warmup,
            describe=lambda value: describe(value * unit),
        )
        return _in_unit(unit, verdict)
    rounds = Rounds(series, integer, noise_floor, describe)
    if not series or rounds.span <= noise_floor:
        return _flat(rounds)
    if len(series) < _FEWEST:
        return _too_few(rounds)
    verdict = _judge(rounds, warmup)
    if capacity is not None and verdict.growing != "no":
        return _towards(capacity, rounds, verdict)
    return verdict


def _judge(rounds: Rounds, warmup: int) -> SeriesVerdict:
    if len(rounds) <= _FEW:
        return judge_few(rounds, warmup)
    if rounds.integer:
        known = count_pattern(rounds)
        if known:
            return known
    return judge_many(rounds, warmup)


def _checked(values: Sequence[float], noise_floor: float, warmup: int) -> list[float]:
    series = [float(v) for v in values]
    if not all(map(math.isfinite, series)):
        bad = next(i for i, v in enumerate(series) if not math.isfinite(v))
        raise ValueError(f"round {bad} is {series[bad]}: leave out rounds that were not measured")
    if not (math.isfinite(noise_floor) and noise_floor >= 0.0):
        raise ValueError(f"noise_floor is {noise_floor}: give a size of 0 or more")
    if warmup < 0:
        raise ValueError(f"warmup is {warmup}: give a number of rounds of 0 or more")
    return series


def _unit(series: Sequence[float]) -> float:
    """Return 1, or the power of two that brings numbers whose squares overflow or vanish near 1."""
    peak = max(map(abs, series), default=0.0)
    if peak == 0.0 or _SMALLEST < peak < _LARGEST:
        return 1.0
    return math.ldexp(1.0, max(-1000, min(1000, math.frexp(peak)[1])))


def _in_unit(unit: float, verdict: SeriesVerdict) -> SeriesVerdict:
    plateau = verdict.plateau
    return replace(
        verdict,
        rate=verdict.rate * unit,
        interval=(verdict.interval[0] * unit, verdict.interval[1] * unit),
        plateau=plateau and replace(plateau, value=plateau.value * unit),
        noise=verdict.noise * unit,
        detectable=verdict.detectable * unit,
    )


def _flat(rounds: Rounds) -> SeriesVerdict:
    known = len(rounds) >= _FEWEST
    return rounds.verdict(
        "flat",
        "no" if known else "cannot tell",
        0.9 if known else 0.1,
        f"it stays at {rounds.describe(rounds.values[0])} for {len(rounds)} rounds"
        if rounds.values
        else "there are no rounds",
        detectable=rounds.noise_floor / max(1, len(rounds) - 1) if known else math.inf,
        more_rounds=None if known else _FEWEST - len(rounds),
    )


def _too_few(rounds: Rounds) -> SeriesVerdict:
    return rounds.verdict(
        "noise",
        "cannot tell",
        0.2 if rounds.values[-1] > rounds.values[0] else 0.1,
        f"two rounds show one change ({rounds.describe(rounds.changes[0])}); a trend needs three",
        more_rounds=_FEWEST - len(rounds),
    )


def _towards(capacity: float, rounds: Rounds, verdict: SeriesVerdict) -> SeriesVerdict:
    """A series below its known capacity fills up, however steadily it grows."""
    last = rounds.values[-1]
    if last > capacity + rounds.noise_floor or verdict.rate <= 0.0:
        return verdict
    full = len(rounds) - 1 + math.ceil((capacity - last) / verdict.rate)
    return rounds.verdict(
        "filling",
        "no",
        0.9,
        f"it is at {rounds.describe(last)} of a capacity of {rounds.describe(capacity)} and is "
        f"full in round {full}",
        plateau=Plateau(capacity, full),
        detectable=verdict.detectable,
    )
