"""Objects that the program promises to release, checked at the generation's end.

The guard holds them by weak references only.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from leakguard.capture.heap import Held
from leakguard.capture.heap.classes import qualified_name
from leakguard.capture.heap.collector import may_collect
from leakguard.capture.heap.engine import address_of
from leakguard.model import Expectation


@dataclass(slots=True)
class _Promise:
    why: str
    type_name: str
    references: list[weakref.ref[object]]
    expected: int


class Promises:
    """The objects that should be freed by the end of this generation."""

    def __init__(self, *, may_collect: bool = True) -> None:
        """``may_collect`` allows one garbage collection before an object counts as alive."""
        self._may_collect = may_collect
        self._open: list[_Promise] = []
        self._told: dict[int, weakref.ref[object]] = {}  # by address: already reported as alive

    @property
    def pending(self) -> bool:
        """True if a promise has not been judged yet."""
        return bool(self._open)

    def add(self, target: object, why: str) -> str | None:
        """Hold ``target`` by a weak reference; for a list, tuple, set or dict, hold its elements.

        Returns:
            None, or the reason why no weak reference to any of these objects is possible.
        """
        objects = list(_members(target))
        references = [ref for ref in map(_weakly, objects) if ref is not None]
        name = qualified_name(type(objects[0])) if objects else qualified_name(type(target))
        if objects and not references:
            return f"{name} objects cannot be weakly referenced, so their release cannot be seen"
        self._open.append(_Promise(why, name, references, len(references)))
        return None

    def collect(self) -> list[int]:
        """Collect garbage if a promised object seems alive, then look for objects still alive.

        Return the address of one living object of each promise that has one. The objects are not
        held: an object that the program drops meanwhile is freed at once.
        """
        if self._may_collect and may_collect() and any(map(_first_alive, self._open)):
            gc.collect()
        return [alive for promise in self._open if (alive := _first_alive(promise))]

    def judge(self, held: Sequence[Held | None] = ()) -> tuple[Expectation, ...]:
        """Judge all promises and forget them.

        ``held`` has the holders of the objects whose addresses ``collect`` returned, in that order.
        """
        answers = iter(held)
        judged = tuple(self._judged(promise, answers) for promise in self._open)
        self._open = []
        self._told = {at: ref for at, ref in self._told.items() if address_of(ref)}
        return judged

    def _judged(self, promise: _Promise, answers: Iterator[Held | None]) -> Expectation:
        alive = {at: ref for ref in promise.references if (at := address_of(ref))}
        again = sum(bool(address_of(self._told[at])) for at in alive.keys() & self._told.keys())
        self._told |= alive
        outcome = Expectation(
            promise.type_name, promise.why, promise.expected, len(alive), again=again
        )
        held = next(answers, None) if alive else None
        if held is None:
            return outcome
        return replace(
            outcome, held_by=held.held_by, trace=held.trace, retained_bytes=held.retained_bytes
        )


def _first_alive(promise: _Promise) -> int:
    """Return the address of the first object that is still alive; 0 if there is none."""
    return next((address for ref in promise.references if (address := address_of(ref))), 0)


def _members(target: object) -> Iterator[object]:
    kind = type(target)  # compared by identity: a metaclass may define ==
    if any(kind is known for known in (list, tuple, set, frozenset)):
        yield from cast("Iterable[object]", target)
    elif kind is dict:
        yield from cast("dict[object, object]", target).values()
    else:
        yield target


def _weakly(target: object) -> weakref.ref[object] | None:
    try:
        return weakref.ref(target)
    except TypeError:
        return None
