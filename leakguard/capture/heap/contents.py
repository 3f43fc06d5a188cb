"""A digest of the contents of large memory, by which copies of the same data are found.

Only a few blocks are read, and through the kernel. For an unreadable address the kernel returns an
error, whereas a direct read would crash the program.
"""

from __future__ import annotations

import functools
import hashlib
import os

from leakguard.capture.heap.frameworks import Buffer

_BLOCKS = 64
_SAMPLED_BLOCK = 64  # bytes


class Contents:
    """Reads large memory during one look; the list of mappings is read once, at its first use."""

    def digest(self, buffer: Buffer) -> str | None:
        """Return a digest of blocks that are spread evenly over host memory.

        None if the memory cannot be read, or all blocks are equal (it was probably never written).
        Also None if the memory is shared or mapped from a file: two mappings of one file are no
        copies.
        """
        if buffer.device != "cpu" or buffer.bytes < _BLOCKS * _SAMPLED_BLOCK:
            return None
        try:
            blocks = _blocks(buffer) if self._is_private(buffer.start) else []
        except OSError:
            return None
        if len(set(blocks)) < 2:
            return None
        return hashlib.sha256(b"".join(blocks)).hexdigest()[:16]

    def _is_private(self, address: int) -> bool:
        return any(start <= address < end for start, end in self._anonymous)

    @functools.cached_property
    def _anonymous(self) -> list[tuple[int, int]]:
        """The address ranges of mappings that are not backed by a file."""
        with open("/proc/self/maps", "rb") as maps:
            entries = [line.split(maxsplit=5)[:5] for line in maps]
        return [_range(span) for span, *_, inode in entries if inode == b"0"]


def _range(span: bytes) -> tuple[int, int]:
    low, high = span.split(b"-")
    return int(low, 16), int(high, 16)


def _blocks(buffer: Buffer) -> list[bytes]:
    stride = (
        (buffer.bytes - _SAMPLED_BLOCK) // (_BLOCKS - 1) // _SAMPLED_BLOCK * _SAMPLED_BLOCK
    )  # whole numbers of items
    memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        starts = (buffer.start + number * stride for number in range(_BLOCKS))
        return [os.pread(memory, _SAMPLED_BLOCK, start) for start in starts]
    finally:
        os.close(memory)
