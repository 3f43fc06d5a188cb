"""Names and labels of the user, made printable on one line and limited in number."""

from __future__ import annotations

import re

_LONGEST_NAME = 200  # characters; a label is a heading, and is written with every snapshot
_NUMBER = re.compile(r"\d+(?:[.,:_-]\d+)*")
# Of names that differ only in numbers, the first ones are recorded as they are, up to this many;
# further names are recorded with a star in place of each number. Chosen: a program has few layers
# and stages, which keep their names, and many numbered episodes, which do not.
_NUMBERED_APART = 8
# A kind of names is what ``kind_of`` returns: a name with a star in place of each number. Phases of
# one run may have this many kinds; phases of any further kind are all recorded as ``OTHERS``.
# Chosen.
_MOST_KINDS = 256
#: The greatest depth of nested phases. A deeper phase counts as a part of the phase around it.
MOST_OPEN_PHASES = 16
OTHERS = "(other phases)"


def plain_text(text: object) -> str:
    """Return a label as one line of at most 200 characters."""
    if type(text) is not str:
        try:
            text = f"{text}"
        except Exception:
            text = type(text).__name__
    if not text.isprintable():
        text = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def plain_truth(given: object) -> bool:
    """Return whether the value is true; a value whose test raises, as of an array, is false."""
    try:
        return bool(given)
    except Exception:
        return False


def kind_of(name: str) -> str:
    """Return the name with every number in it replaced by a star."""
    return _NUMBER.sub("*", name)


class PhaseNames:
    """Maps a phase to the name that it is recorded under; the number of names is limited."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def recorded(self, name: str) -> str:
        """Return the name itself, or its kind if too many names differ only in numbers."""
        kind = kind_of(name)
        if kind not in self._names and len(self._names) >= _MOST_KINDS:
            return OTHERS
        names = self._names.setdefault(kind, set())
        if len(names) < _NUMBERED_APART:
            names.add(name)
        return name if name in names else kind
