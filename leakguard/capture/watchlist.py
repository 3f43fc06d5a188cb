"""The classes a user watches, and how many live instances there should be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from leakguard.errors import UsageError
from leakguard.model import Watched

Expected: TypeAlias = "tuple[int, int] | None"
Watch: TypeAlias = "Mapping[type, int | tuple[int, int] | None] | Iterable[type]"


def qualified_name(cls: type) -> str:
    """Return ``module.QualName`` of a class, bare for builtins, without running its code."""
    module = type.__getattribute__(cls, "__module__")
    name = type.__getattribute__(cls, "__qualname__")
    return name if module == "builtins" else f"{module}.{name}"


class Watchlist:
    """Watched classes by qualified name, each with its expected count."""

    def __init__(self, watch: Watch) -> None:
        """Take ``{Class: 2, Other: (16, 17)}``, or a list of classes without an expectation.

        Raises:
            UsageError: something in it is no class, or an expectation is no count or range.
        """
        items = watch.items() if isinstance(watch, Mapping) else ((cls, None) for cls in watch)
        self.classes: dict[str, type] = {}
        self._expected: dict[str, Expected] = {}
        for cls, expected in items:
            if not isinstance(cls, type):
                raise UsageError(f"watch= takes classes, not {type(cls).__name__} objects")
            name = qualified_name(cls)
            self.classes[name] = cls
            self._expected[name] = _range(name, expected)

    def judge(self, counts: Mapping[str, int]) -> dict[str, Watched]:
        """Put counted instances beside what is expected of them."""
        return {
            name: Watched(counts[name], expected)
            for name, expected in self._expected.items()
            if name in counts
        }


def _range(name: str, expected: int | tuple[int, int] | None) -> Expected:
    if expected is None:
        return None
    low, high = (expected, expected) if isinstance(expected, int) else expected
    if not 0 <= low <= high:
        raise UsageError(f"watch= expects {expected!r} of {name}; write a count or (low, high)")
    return low, high
