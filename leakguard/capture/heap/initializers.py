"""The source lines of the methods that initialize the instances of a class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType

from leakguard.capture.heap.classes import lineage, namespace
from leakguard.capture.stack import INITIALIZERS, Lines

# Decorators around one method that are looked through. Chosen; a cycle of them ends.
_MOST_DECORATORS = 10


class Initializers:
    """Reads the initializers of classes, each class once and without running its code."""

    def __init__(self) -> None:
        self._read: dict[int, frozenset[Lines]] = {}  # by id: a metaclass may define ``__hash__``

    def of(self, classes: Iterable[type]) -> frozenset[Lines]:
        """Return the lines of all initializers that instances of these classes may run."""
        return frozenset().union(*map(self._of, classes))

    def _of(self, cls: type) -> frozenset[Lines]:
        if id(cls) not in self._read:
            self._read[id(cls)] = frozenset(_lines(cls))
        return self._read[id(cls)]


def _lines(cls: type) -> Iterator[Lines]:
    for parent in lineage(cls):
        own = namespace(parent)
        for name in INITIALIZERS:
            for function in _wrapped_in(own.get(name)):
                code = function.__code__
                lines = [line for _, _, line in code.co_lines() if line is not None]
                yield Lines(code.co_filename, code.co_firstlineno, max(lines, default=0))


def _wrapped_in(found: object) -> Iterator[FunctionType]:
    """Yield a method's decorators, if they say what they wrap, and the method; no other objects."""
    for _ in range(_MOST_DECORATORS):
        if type(found) is not FunctionType:
            return
        yield found
        if found.__code__.co_name in INITIALIZERS:
            return
        # ``functools.wraps`` has made this dict; reading that of a plain function would make one.
        found = found.__dict__.get("__wrapped__")
