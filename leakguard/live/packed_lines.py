"""Lines of text in few, compressed objects: what a guard keeps must not look like growth."""

from __future__ import annotations

import zlib
from array import array

# Raw bytes that are compressed together: lines of one run are alike, so that 64 kB give a tenth.
_BLOCK = 65_536
_LEVEL = 1  # the fastest: 64 kB of lines take 0.5 ms


class PackedLines:
    """Lines in order, each found by its number; the newest lie open, the others compressed."""

    def __init__(self) -> None:
        self.raw_bytes = 0
        self._blocks: list[bytes] = []
        self._open = bytearray()
        # The block of each line and where it ends there; a line begins where the one before ends.
        self._block_of = array("L")
        self._ends = array("L")
        self._unpacked: tuple[int, bytes] = (-1, b"")

    def append(self, line: bytes) -> None:
        """Keep a line as the last one."""
        self._open += line
        self.raw_bytes += len(line)
        self._block_of.append(len(self._blocks))
        self._ends.append(len(self._open))
        if len(self._open) >= _BLOCK:
            self._blocks.append(zlib.compress(self._open, _LEVEL))
            self._open = bytearray()

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> bytes:
        return self._text(self._block_of[number])[self._start(number) : self._ends[number]]

    def size_of(self, number: int) -> int:
        """Return the bytes of a line."""
        return self._ends[number] - self._start(number)

    def _start(self, number: int) -> int:
        inside = number > 0 and self._block_of[number - 1] == self._block_of[number]
        return self._ends[number - 1] if inside else 0

    @property
    def held_bytes(self) -> int:
        """The bytes of memory that the lines are held in."""
        arrays = (len(self._ends) * self._ends.itemsize) * 2
        return sum(map(len, self._blocks)) + len(self._open) + len(self._unpacked[1]) + arrays

    def forget_unpacked(self) -> None:
        """Let go of the block that was read last."""
        self._unpacked = (-1, b"")

    def _text(self, block: int) -> bytes:
        if block == len(self._blocks):
            return bytes(self._open)
        if self._unpacked[0] != block:
            self._unpacked = (block, zlib.decompress(self._blocks[block]))
        return self._unpacked[1]
