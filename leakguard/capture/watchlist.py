"""The classes that a user watches, and how many live instances there should be."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from leakguard.capture.heap.classes import qualified_name
from leakguard.errors import UsageError, shown
from leakguard.model import Watched

Expected: TypeAlias = "tuple[int, int] | None"
Watch: TypeAlias = "type | Mapping[type, int | tuple[int, int] | None] | Iterable[type]"


class Watchlist:
    """Watched classes by qualified name, each with its expected count."""

    def __init__(self, watch: Watch) -> None:
        """Take ``{Class: 2, Other: (16, 17)}``, or classes without an expected count, or one class.

        Raises:
            UsageError: an entry is no class, or an expectation is neither a count nor a range.
        """
        self.classes: dict[str, type] = {}
        self._expected: dict[str, Expected] = {}
        for cls, expected in _entries(watch):
            if not issubclass(type(cls), type):
                raise UsageError(f"watch= takes classes, not {type(cls).__name__} objects")
            name = qualified_name(cls)
            self.classes[name] = cls
            self._expected[name] = _range(name, expected)

    def judge(self, counts: Mapping[str, int]) -> dict[str, Watched]:
        """Return the counted instances of each watched class together with the expected number."""
        return {
            name: Watched(counts[name], expected)
            for name, expected in self._expected.items()
            if name in counts
        }


def _entries(watch: object) -> list[tuple[type, Any]]:
    """Return (class, expected count) pairs; None is expected of classes given without a count."""
    if issubclass(type(watch), type):
        return [(cast("type", watch), None)]
    try:
        if issubclass(type(watch), Mapping):
            return list(cast("Mapping[type, Any]", watch).items())
        return [(cls, None) for cls in cast("Iterable[type]", watch)]
    except Exception:
        raise UsageError(
            f"watch= takes classes, such as [Env] or {{Env: 2}}, not {type(watch).__name__}"
        ) from None


def _range(name: str, expected: object) -> Expected:
    if expected is None:
        return None
    try:
        low, high = _bounds(expected)
    except Exception:  # the user's object may raise anything
        low, high = 1, 0
    if not 0 <= low <= high:
        raise UsageError(
            f"watch= expects {shown(expected)} of {name}; write a count or (low, high)"
        )
    return low, high


def _bounds(expected: Any) -> tuple[int, int]:
    if type(expected) in (tuple, list):
        low, high = expected
        return operator.index(low), operator.index(high)
    return operator.index(expected), operator.index(expected)
