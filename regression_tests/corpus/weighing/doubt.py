"""A number that knows what it would be if a rule were another, and notes where that decides.

Arithmetic carries the other values along; a comparison notes for which of them it would have come
out otherwise. What leaves Python's operators (an index, a C function) is noted where it is another.
After a run without a note for a change, the run's report cannot depend on it: no need to try.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

Key = Any  # what names a change; anything that can be a key

#: The changes for which the run at hand would have taken another road somewhere.
noted: set[Key] = set()

_FAILED = object()


class Doubt:
    """A number, and what it would be under each change that makes it another."""

    __slots__ = ("others", "value")

    def __init__(self, value: Any, others: Mapping[Key, Any]) -> None:
        self.value = value
        self.others = others

    def __repr__(self) -> str:
        return repr(self.value)

    def __format__(self, how: str) -> str:
        return format(self.value, how)

    def __bool__(self) -> bool:
        return bool(_decided(operator.truth, self))

    def __hash__(self) -> int:
        return hash(self._left())

    def __float__(self) -> float:
        return float(self._left())

    def __int__(self) -> int:
        return int(_decided(int, self))

    def __index__(self) -> int:
        return operator.index(self._left())

    def __round__(self, digits: int | None = None) -> Any:
        return _computed(lambda number: round(number, digits), self)

    def _left(self) -> Any:
        """Return the number for something that cannot carry the others along."""
        noted.update(self.others)
        return self.value


def computed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of plain numbers as one of numbers in doubt."""
    return lambda *given: _computed(function, *given) if _any(given) else function(*given)


def _any(given: tuple[Any, ...]) -> bool:
    return any(type(each) is Doubt for each in given)


def _plain(given: tuple[Any, ...], change: Key = None) -> list[Any]:
    return [
        (each.value if change is None else each.others.get(change, each.value))
        if type(each) is Doubt
        else each
        for each in given
    ]


def _alternatives(function: Callable[..., Any], given: tuple[Any, ...]) -> dict[Key, Any]:
    asked = {key for each in given if type(each) is Doubt for key in each.others} - noted
    return {change: _tried(function, _plain(given, change)) for change in asked}


def _tried(function: Callable[..., Any], given: list[Any]) -> Any:
    try:
        return function(*given)
    except (ArithmeticError, ValueError):
        return _FAILED


def _computed(function: Callable[..., Any], *given: Any) -> Any:
    value = function(*_plain(given))
    others = _alternatives(function, given)
    noted.update(change for change, other in others.items() if other is _FAILED)
    kept = {
        change: other
        for change, other in others.items()
        if other is not _FAILED and not _same(other, value)
    }
    return Doubt(value, kept) if kept and value is not NotImplemented else value


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def _decided(function: Callable[..., Any], *given: Any) -> Any:
    value = function(*_plain(given))
    others = _alternatives(function, given)
    noted.update(change for change, other in others.items() if other != value)
    return value


def _arithmetic(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (
        lambda self, other: _computed(function, self, other),
        lambda self, other: _computed(function, other, self),
    )


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _there, _back = _arithmetic(getattr(operator, _name))
    setattr(Doubt, f"__{_name}__", _there)
    setattr(Doubt, f"__r{_name}__", _back)
for _name in ("neg", "abs", "pos"):
    _one = getattr(operator, _name)
    setattr(Doubt, f"__{_name}__", lambda self, _one=_one: _computed(_one, self))
for _name in ("ceil", "floor", "trunc"):
    _one = getattr(math, _name)
    setattr(Doubt, f"__{_name}__", lambda self, _one=_one: _computed(_one, self))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _one = getattr(operator, _name)
    setattr(Doubt, f"__{_name}__", lambda self, other, _one=_one: _decided(_one, self, other))


class Math:
    """The module ``math`` for numbers in doubt."""

    def __getattr__(self, name: str) -> Any:
        given = getattr(math, name)
        found = computed(given) if callable(given) and name not in ("fsum", "prod") else given
        setattr(self, name, found)
        return found
