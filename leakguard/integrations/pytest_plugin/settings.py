"""The limits of a test: the arguments of its mark, with defaults from the ini file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import pytest

from leakguard.analysis.budget_settings import budget_of
from leakguard.capture.heap.classes import qualified_name
from leakguard.errors import UsageError
from leakguard.model.budget import Budget

Per = Literal["generation", "test"]
Watch = dict[type, "tuple[int, int]"]

_LIMITS = (
    "growth", "peak", "verdict", "constant", "phases", "warmup", "threads", "open_files",
    "children",
)  # fmt: skip
_OWN = ("per", "generations", "retries", "ignore")
_FEWEST = 3  # least number of generations for a verdict

_NUMBERS: Mapping[str, Callable[[str], float]] = {
    "threads": float, "open_files": float, "children": float,
    "generations": int, "warmup": int, "retries": int,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """The limits of one test, and the number of its rounds.

    Attributes:
        budget: the limits; types are given by qualified name.
        watch: the classes in ``constant``, with the number of instances that may exist.
        per: whether ``growth`` limits each generation, or all counted generations together.
        generations: rounds before the first judgement, including the warm-up.
        retries: how often a broken budget gets as many rounds again before it fails.
        ignore: patterns (``fnmatch``) of types or holders that are not reported.
    """

    budget: Budget
    watch: Watch
    per: Per = "generation"
    generations: int = 5
    retries: int = 2
    ignore: tuple[str, ...] = ()

    @property
    def classes(self) -> dict[str, type]:
        """The watched classes by their names in the budget."""
        return {qualified_name(cls): cls for cls in self.watch}

    @property
    def counted(self) -> int:
        """The number of generations in a batch, without the warm-up."""
        return self.generations - self.budget.warmup


def settings_of(arguments: Mapping[str, Any], ini: Mapping[str, str]) -> BudgetSettings:
    """Return the settings from a mark's keyword arguments, with defaults from the ini file.

    Raises:
        UsageError: an argument is unknown or cannot be used; the message names it.
    """
    _known(arguments)
    given: dict[str, Any] = {**_from_ini(ini), **arguments}
    constant = given.get("constant", {})
    if not isinstance(constant, Mapping):
        raise UsageError("memory_budget: constant= takes {Class: count} or {Class: (low, high)}")
    limits = {name: given[name] for name in _LIMITS if name in given}
    limits["constant"] = {_name(key): value for key, value in constant.items()}
    budget = budget_of(limits)
    watch = {key: budget.constant[_name(key)] for key in constant if isinstance(key, type)}
    generations = _checked_count("generations", given.get("generations", 5), budget.warmup + 2)
    return BudgetSettings(
        budget=budget,
        watch=watch,
        per=_per(given.get("per", "generation")),
        generations=generations,
        retries=_checked_count("retries", given.get("retries", 2), 0),
        ignore=_patterns(given.get("ignore", ())),
    )


def usable(item: pytest.Item) -> None:
    """Refuse a test that cannot be repeated.

    Raises:
        UsageError: the test is no function, or is a coroutine that does not use the fixture.
    """
    if not isinstance(item, pytest.Function) or hasattr(item, "_testcase"):
        raise UsageError("memory_budget works on test functions and methods, not on unittest cases")
    if inspect.iscoroutinefunction(item.obj) and "memory_budget" not in item.fixturenames:
        raise UsageError(
            "memory_budget cannot repeat a coroutine; loop over the fixture in the test: "
            "for generation in memory_budget.generations(5): await ..."
        )


def rounds(count: Any, warmup: int) -> int:
    """Return ``count`` if so many rounds allow a verdict.

    Raises:
        UsageError: ``count`` is too small or no number.
    """
    return _checked_count("generations", count, max(_FEWEST, warmup + 2))


def _from_ini(ini: Mapping[str, str]) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for name, text in ini.items():
        try:
            defaults[name] = _NUMBERS[name](text) if name in _NUMBERS else text
        except ValueError:
            raise UsageError(f"leakguard_{name} = {text!r} in the ini file is no number") from None
    return defaults


def _known(arguments: Mapping[str, Any]) -> None:
    unknown = [name for name in arguments if name not in _LIMITS + _OWN]
    if unknown:
        known = ", ".join(_LIMITS + _OWN)
        raise UsageError(f"memory_budget has no argument {unknown[0]!r}; it takes {known}")


def _name(key: Any) -> str:
    if isinstance(key, type):
        return qualified_name(key)
    if isinstance(key, str):
        return key
    raise UsageError(f"memory_budget: constant= names classes, not {type(key).__name__} objects")


def _per(value: Any) -> Per:
    if value not in ("generation", "test"):
        raise UsageError(f"memory_budget: per={value!r} is unknown; use 'generation' or 'test'")
    return cast(Per, value)


def _checked_count(name: str, value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise UsageError(f"memory_budget: {name}={value!r} is no number of {least} or more")
    return value


def _patterns(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value))
