"""The run so far, in bounded memory and in one object.

Snapshots kept as objects would make the guard's own dicts and ints grow every generation, which is
what a guard looks for. They are kept as encoded lines in one buffer; when there are too many, every
second generation is dropped, so that the rest stays evenly spaced.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

_NO_GENERATION = -1


class History:
    """Encoded snapshots of a run, at most about ``limit`` of them."""

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._ends = array("Q")
        self._rounds = array("q")
        self._stride = 1

    def append(self, line: bytes, round_: int | None) -> None:
        """Keep one line; ``round_`` counts the generations from 0, None outside of them."""
        if round_ is not None and round_ % self._stride:
            return
        self._buffer += line
        self._ends.append(len(self._buffer))
        self._rounds.append(_NO_GENERATION if round_ is None else round_)
        if len(self._ends) > self._limit:
            self._thin()

    def recent(self, count: int) -> Iterator[bytes]:
        """Yield the lines from before the first generation, then the last ``count`` others."""
        lines = list(zip(self, self._rounds, strict=True))
        yield from (line for line, round_ in lines[:-count] if round_ == _NO_GENERATION)
        yield from (line for line, _ in lines[-count:])

    def __iter__(self) -> Iterator[bytes]:
        start = 0
        for end in self._ends:
            yield bytes(self._buffer[start:end])
            start = end

    def __len__(self) -> int:
        return len(self._ends)

    def _thin(self) -> None:
        self._stride *= 2
        kept = [
            (line, round_)
            for line, round_ in zip(self, self._rounds, strict=True)
            if round_ == _NO_GENERATION or round_ % self._stride == 0
        ]
        self._buffer, self._ends, self._rounds = bytearray(), array("Q"), array("q")
        for line, round_ in kept:
            self._buffer += line
            self._ends.append(len(self._buffer))
            self._rounds.append(round_)
