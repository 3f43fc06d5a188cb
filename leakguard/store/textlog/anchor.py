"""Byte strings that lines of interest hold, looked for at the speed of memchr."""

from __future__ import annotations

import re
from collections import deque

# Letters that prose, numbers and progress bars rarely hold, the rarest first.
_RARE = b"ZQXJYKVWUGPBHLMDCFONRISATEzqxjkvywbgpfhmucdlnrisoate: "
# With so many lookalikes of one letter in a row, a search for the whole string is faster.
_PATIENCE = 64


class Anchor:
    """One string to look for; it remembers what it has searched and what it found."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        rarest_first = sorted(range(len(text)), key=lambda n: _RARE.find(text[n]) % 256)
        self._letters = deque((text[n : n + 1], n) for n in rarest_first)
        self._pattern = re.compile(re.escape(text))
        self._searched = 0
        self._found: int | None = None

    def find(self, buffer: bytearray, position: int, end: int) -> int | None:
        """Return the first place in ``buffer[position:end]``."""
        if self._found is None or self._found < position:
            begin = max(position, self._searched)
            self._found = self._search(buffer, begin, end)
            overlap = len(self._text) - 1
            self._searched = max(begin, end - overlap) if self._found is None else begin
        return self._found

    def shift(self, count: int) -> None:
        """Follow the buffer when it drops its first ``count`` bytes."""
        self._searched = max(0, self._searched - count)
        if self._found is not None:
            self._found = self._found - count if self._found >= count else None

    def _search(self, buffer: bytearray, begin: int, end: int) -> int | None:
        letter, offset = self._letters[0]
        for _ in range(_PATIENCE):
            at = buffer.find(letter, begin + offset, end)
            if at < 0:
                return None
            begin = at - offset
            if buffer.startswith(self._text, begin, end):
                return begin
            begin += 1
        self._letters.rotate(-1)
        match = self._pattern.search(buffer, begin, end)
        return None if match is None else match.start()
