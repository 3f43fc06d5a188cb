"""The run so far, in bounded memory and in one object.

Snapshots kept as objects would make the guard's own dicts and ints grow every generation, which is
what a guard looks for. They are kept as encoded lines in one buffer that grows by large blocks;
when there are too many, every second generation is dropped, so that the rest stays evenly spaced.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

_NO_GENERATION = -1
_BLOCK = 1_000_000


class History:
    """Encoded snapshots of a run, at most about ``limit`` of them."""

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._buffer = bytearray(_BLOCK)
        self._used = 0
        self._ends = array("Q")
        self._rounds = array("q")
        self._stride = 1

    def append(self, line: bytes, round_: int | None) -> None:
        """Keep one line; ``round_`` counts the generations from 0, None outside of them."""
        if round_ is not None and round_ % self._stride:
            return
        self._keep(line, _NO_GENERATION if round_ is None else round_)
        if len(self._ends) > self._limit:
            self._thin()

    def recent(self, count: int) -> Iterator[bytes]:
        """Yield the lines from before the first generation, then the last ``count`` others."""
        first = max(len(self) - count, 0)
        for index, round_ in enumerate(self._rounds):
            if index >= first or round_ == _NO_GENERATION:
                yield self._line(index)

    def __iter__(self) -> Iterator[bytes]:
        return map(self._line, range(len(self)))

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def held_bytes(self) -> int:
        """The bytes that the kept lines are held in, free space included."""
        return len(self._buffer)

    def _line(self, index: int) -> bytes:
        start = self._ends[index - 1] if index else 0
        return bytes(self._buffer[start : self._ends[index]])

    def _keep(self, line: bytes, round_: int) -> None:
        end = self._used + len(line)
        while end > len(self._buffer):
            self._buffer.extend(bytes(_BLOCK))
        self._buffer[self._used : end] = line
        self._used = end
        self._ends.append(end)
        self._rounds.append(round_)

    def _thin(self) -> None:
        self._stride *= 2
        lines, rounds = list(self), self._rounds
        self._used, self._ends, self._rounds = 0, array("Q"), array("q")
        for line, round_ in zip(lines, rounds, strict=True):
            if round_ == _NO_GENERATION or round_ % self._stride == 0:
                self._keep(line, round_)
