"""Makes a budget from the plain values of a settings file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

from leakguard.analysis.words import budget as words
from leakguard.errors import UsageError
from leakguard.model.budget import Budget, FailOn, PhaseBudget
from leakguard.model.metric import RESOURCES
from leakguard.model.units import parse_size

_KEYS = ("growth", "peak", "verdict", "constant", "phases", "warmup", "tolerance", *RESOURCES)
_PHASE_KEYS = ("growth", "peak")
_LEVELS = ("leak", "suspect", "never")


def budget_of(settings: Mapping[str, Any]) -> Budget:
    """Return the budget that ``settings`` describe; a limit that they omit is not checked.

    Example::

        growth = "1 GB"
        peak = "4 GB"
        constant = { TradingEnvironment = 2, DDPGAgent = [16, 17] }
        phases.evaluate_population.growth = "10 MB"

    Raises:
        UsageError: a key is unknown or a value cannot be used; the message names it.
    """
    _known("budget", settings, _KEYS)
    budget = Budget()
    return Budget(
        growth=_at("growth", settings, parse_size, None),
        peak=_at("peak", settings, parse_size, None),
        verdict=_at("verdict", settings, _level, budget.verdict),
        constant=_table("constant", settings, _range),
        resources={
            name: _at(name, settings, _amount, 0.0) for name in RESOURCES if name in settings
        },
        phases=_table("phases", settings, _phase),
        warmup=_at("warmup", settings, _rounds, budget.warmup),
        tolerance=_at("tolerance", settings, _amount, budget.tolerance),
    )


def _at(key: str, settings: Mapping[str, Any], read: Callable[[Any], Any], default: Any) -> Any:
    if key not in settings:
        return default
    try:
        return read(settings[key])
    except UsageError as error:
        raise UsageError(words.at_key(key, error)) from error


def _table(key: str, settings: Mapping[str, Any], read: Callable[[Any], Any]) -> dict[str, Any]:
    table = settings.get(key, {})
    if not isinstance(table, Mapping):
        raise UsageError(words.no_table(key, table))
    return {str(name): _at(f"{key}.{name}", {f"{key}.{name}": value}, read, None)
            for name, value in table.items()}  # fmt: skip


def _phase(value: Any) -> PhaseBudget:
    if not isinstance(value, Mapping):
        raise UsageError(words.unusable(value, "phase limits"))
    _known("phase", value, _PHASE_KEYS)
    return PhaseBudget(_at("growth", value, parse_size, None), _at("peak", value, parse_size, None))


def _range(value: Any) -> tuple[int, int]:
    pair = value if isinstance(value, list | tuple) else [value, value]
    if (
        len(pair) != 2
        or not all(type(end) is int and end >= 0 for end in pair)
        or pair[0] > pair[1]
    ):
        raise UsageError(words.unusable(value, "count"))
    return pair[0], pair[1]


def _level(value: Any) -> FailOn:
    if value not in _LEVELS:
        raise UsageError(words.not_one_of(value, _LEVELS))
    return cast(FailOn, value)


def _amount(value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= sys.float_info.max
    ):
        raise UsageError(words.unusable(value, "amount"))
    return float(value)


def _rounds(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise UsageError(words.unusable(value, "generations"))
    return value


def _known(what: str, settings: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    unknown = [key for key in settings if key not in keys]
    if unknown:
        raise UsageError(words.unknown_key(what, unknown[0], keys))
