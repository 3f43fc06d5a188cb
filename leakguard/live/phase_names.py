"""Names of phases: those that differ in numbers only are one phase after the first few."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+(?:[.,:_-]\d+)*")
# Layers or stages that somebody numbered are told apart; episodes are not.
_NUMBERED_APART = 8
# Kinds of names in one run; what comes after them is told together.
_MOST_KINDS = 256
#: Phases inside phases: deeper ones are a part of the one around them.
DEEPEST = 16
OTHERS = "(other phases)"


def kind_of(name: str) -> str:
    """Return the name with every number in it replaced by a star."""
    return _NUMBER.sub("*", name)


class PhaseNames:
    """Which name a phase is recorded under; there is a bounded number of them."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def recorded(self, name: str) -> str:
        """Return the name itself, or its kind where too many differ in numbers only."""
        kind = kind_of(name)
        if kind not in self._names and len(self._names) >= _MOST_KINDS:
            return OTHERS
        names = self._names.setdefault(kind, set())
        if len(names) < _NUMBERED_APART:
            names.add(name)
        return name if name in names else kind
