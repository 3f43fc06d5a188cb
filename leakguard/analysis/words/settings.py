"""What is wrong with a setting of a budget, and what to write in its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

#: What a value should have been.
Wanted = Literal["phase limits", "count", "amount", "generations"]

_WANTED: dict[Wanted, str] = {
    "phase limits": "is no table with growth and peak",
    "count": "is no count; write 2, or [16, 17] for a range",
    "amount": "is no number of zero or more",
    "generations": "is no number of generations",
}


def unusable(value: object, wanted: Wanted) -> str:
    """Return that a value is not what is wanted."""
    return f"{value!r} {_WANTED[wanted]}"


def not_one_of(value: object, allowed: Iterable[str]) -> str:
    """Return that a value is none of those that are allowed."""
    return f"{value!r} is not one of {', '.join(allowed)}"


def at_key(key: str, wrong: object) -> str:
    """Return what is wrong with the value of a key."""
    return f"budget key {key}: {wrong}"


def no_table(key: str, value: object) -> str:
    """Return that a key needs a table."""
    return at_key(key, f"{value!r} is no table; write name = limit lines under it")


def unknown_key(what: str, key: str, keys: Iterable[str]) -> str:
    """Return that a key is unknown, with those that are known."""
    return f"unknown {what} key {key!r}; the keys are {', '.join(keys)}"
