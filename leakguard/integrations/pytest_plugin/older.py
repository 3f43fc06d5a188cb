"""Counts the objects that are older than a test, and names the tests that left them behind.

Such objects never count as the test's.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from leakguard.capture import heap
from leakguard.model import TypeCount


@dataclass(frozen=True, slots=True)
class Older:
    """Instances of one type that were alive before a test began, and the tests that left some."""

    count: int
    left_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        by = f", left by {' and '.join(self.left_by)}" if self.left_by else ""
        return f"{self.count} of them older than the test{by}"


@dataclass(slots=True)
class Leavers:
    """Remembers which tests left instances behind, for each type that a budget counts."""

    _tests: dict[str, list[str]] = field(default_factory=dict)

    def alive(self, names: Iterable[str], watch: Mapping[str, type]) -> dict[str, Older]:
        """Count the live instances of the types that a budget names, and name who left them."""
        found = _alive_by_name(names, watch)
        return {
            name: Older(count, self._who_left(name) if count else ())
            for name, count in found.items()
        }

    def note(self, test: str, before: Mapping[str, Older], watch: Mapping[str, type]) -> None:
        """Note that ``test`` has ended, and of which types it left instances behind."""
        for name, count in _alive_by_name(before, watch).items():
            tests = self._tests.setdefault(name, [])
            if count > before[name].count:
                tests.append(test)
            elif not count:
                tests.clear()

    def _who_left(self, name: str) -> tuple[str, ...]:
        known = (tests for other, tests in self._tests.items() if _means(name, other))
        return tuple(dict.fromkeys(chain.from_iterable(known)))


def live_types() -> dict[str, TypeCount]:
    """Collect garbage, then count every live object by type."""
    gc.collect()
    return dict(heap.census().census.types)


def _alive_by_name(names: Iterable[str], watch: Mapping[str, type]) -> dict[str, int]:
    """Count instances by the names in a budget: those of classes, with or without their module."""
    wanted = list(names)
    if not wanted:
        return {}
    gc.collect()
    counted = heap.census(watch)
    types = counted.census.types
    return {
        name: counted.watched[name]
        if name in counted.watched
        else sum(entry.count for known, entry in types.items() if _means(name, known))
        for name in wanted
    }


def _means(name: str, known: str) -> bool:
    """Return whether a name, with or without module, may be that of a known type."""
    return known == name or known.rsplit(".", 1)[-1] == name or known == name.rsplit(".", 1)[-1]
