"""A released package in two versions, one that leaks and one that does not, and how to call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

#: A version that leaks, and the first without the leak.
SIDES = ("leaky", "fixed")
Language = Literal["C", "C++", "Cython", "Python", "Rust"]
Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions of a package, and the call that leaks in the first.

    Attributes:
        make: imports the package, prepares, and returns what a generation calls.
        calls: how often a generation calls it.
        module: name of the package to import, as it stands in paths of its files.
        types: types that are right to name; a name ends with one of them.
        holders: pieces of text, one of which names the place that keeps them.
        python: the CPython it runs on.
        needs: other requirements, pinned where a version matters.
        source: where the leak or its mending is told of.
    """

    package: str
    leaky: str
    fixed: str
    language: Language
    make: Callable[[], Call]
    calls: int
    module: str
    types: tuple[str, ...]
    holders: tuple[str, ...]
    python: str
    needs: tuple[str, ...]
    source: str

    @property
    def name(self) -> str:
        """The exercise's name, which is the pair's."""
        return self.make.__name__

    @property
    def told(self) -> str:
        """What leaks, in a sentence."""
        return " ".join((self.make.__doc__ or "").split())

    def version(self, side: str) -> str:
        """Return the version of one side, ``leaky`` or ``fixed``."""
        return self.leaky if side == "leaky" else self.fixed

    def requirements(self, side: str) -> tuple[str, ...]:
        """Return what the environment of one side is made of."""
        return (f"{self.package}=={self.version(side)}", *self.needs)


PAIRS: dict[str, Pair] = {}


def pair(
    package: str,
    leaky: str,
    fixed: str,
    language: Language,
    *,
    calls: int,
    source: str,
    module: str = "",
    types: str = "",
    holders: str = "",
    python: str = "3.11",
    needs: str = "",
) -> Callable[[Callable[[], Call]], Callable[[], Call]]:
    """Register a pair; several types, holders or requirements stand in one text."""

    def register(make: Callable[[], Call]) -> Callable[[], Call]:
        words = (tuple(text.split()) for text in (types, holders, needs))
        right, held, others = words
        PAIRS[make.__name__] = Pair(
            package, leaky, fixed, language, make, calls, module or package.replace("-", "_"),
            right, held, python, others, source,
        )  # fmt: skip
        return make

    return register
