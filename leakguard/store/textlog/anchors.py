"""Finds the first of several words in a buffer: how a log is searched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from leakguard.compiled_part import check_interface

try:
    from leakguard.store.textlog import _find

    check_interface(_find, 0x5C900C48)
except ImportError:  # built without a compiler, or from other sources
    _find = None  # type: ignore[assignment]

_Find = Callable[[bytearray, int, int], int]


class Anchors:
    """Words of at least three bytes, searched for all at once."""

    def __init__(self, texts: Iterable[bytes], *, compiled: bool = _find is not None) -> None:
        """Prepare to search for ``texts``, with the compiled search if it is installed."""
        # Sorting makes words with the same beginning neighbours, which the compiled search
        # exploits.
        self.texts = tuple(sorted(set(texts)))
        self.longest = max(map(len, self.texts))
        self._find = _compiled(self.texts) if compiled else _by_pattern(self.texts)

    def find(self, buffer: bytearray, begin: int, end: int) -> int:
        """Return the position of the first word in ``buffer[begin:end]``; -1 if there is none."""
        return self._find(buffer, begin, end)


def _compiled(texts: tuple[bytes, ...]) -> _Find:
    find, words = _find.find, _find.words(texts)
    return lambda buffer, begin, end: find(words, buffer, begin, end)


def _by_pattern(texts: tuple[bytes, ...]) -> _Find:
    search = re.compile(b"|".join(map(re.escape, texts))).search

    def find(buffer: bytearray, begin: int, end: int) -> int:
        match = search(buffer, begin, end)
        return -1 if match is None else match.start()

    return find
