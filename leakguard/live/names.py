"""Names and labels as users give them, made fit for every file, and bounded in number."""

from __future__ import annotations

import re

_LONGEST_NAME = 200  # characters: a label is a heading, and is written down with every snapshot
_NUMBER = re.compile(r"\d+(?:[.,:_-]\d+)*")
# Layers or stages that somebody numbered are told apart; episodes are not.
_NUMBERED_APART = 8
# Kinds of names in one run; what comes after them is told together.
_MOST_KINDS = 256
#: Phases inside phases: deeper ones are a part of the one around them.
MOST_OPEN_PHASES = 16
OTHERS = "(other phases)"


def plain_text(text: object) -> str:
    """Return a label in one line of at most 200 characters, whatever was given for it."""
    if type(text) is not str:
        try:
            text = f"{text}"
        except Exception:
            text = type(text).__name__
    if not text.isprintable():
        text = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def plain_truth(given: object) -> bool:
    """Return whether it is true; what cannot tell, as an array of several numbers, is not."""
    try:
        return bool(given)
    except Exception:
        return False


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
