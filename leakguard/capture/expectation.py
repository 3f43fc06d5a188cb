"""Objects the program says it gave up: held weakly, judged when the generation ends."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from leakguard.capture.watchlist import qualified_name
from leakguard.model import Expectation


@dataclass(slots=True)
class _Promise:
    why: str
    type_name: str
    references: list[weakref.ref[object]]
    expected: int


class Promises:
    """What should be freed by the end of this generation."""

    def __init__(self) -> None:
        self._open: list[_Promise] = []

    def add(self, target: object, why: str) -> str | None:
        """Hold ``target``, or the elements of a list, tuple, set or dict, weakly.

        Returns:
            None, or the reason why nothing of it can be held weakly.
        """
        objects = list(_members(target))
        references = [ref for ref in map(_weakly, objects) if ref is not None]
        name = qualified_name(type(objects[0])) if objects else qualified_name(type(target))
        if objects and not references:
            return f"{name} objects cannot be weakly referenced, so their release cannot be seen"
        self._open.append(_Promise(why, name, references, len(references)))
        return None

    def survivors(self) -> list[object]:
        """Return the objects that are still alive; the caller drops the list at once."""
        return [alive for promise in self._open for ref in promise.references
                if (alive := ref()) is not None]  # fmt: skip

    def judge(self) -> tuple[Expectation, ...]:
        """Judge and forget every promise; collects garbage once if something seems alive."""
        if any(ref() is not None for promise in self._open for ref in promise.references):
            gc.collect()
        judged = tuple(_judged(promise) for promise in self._open)
        self._open = []
        return judged


def _judged(promise: _Promise) -> Expectation:
    alive = sum(ref() is not None for ref in promise.references)
    return Expectation(promise.type_name, promise.why, promise.expected, alive)


def _members(target: object) -> Iterator[object]:
    if type(target) in (list, tuple, set, frozenset):
        yield from cast("Iterable[object]", target)
    elif type(target) is dict:
        yield from cast("dict[object, object]", target).values()
    else:
        yield target


def _weakly(target: object) -> weakref.ref[object] | None:
    try:
        return weakref.ref(target)
    except TypeError:
        return None
