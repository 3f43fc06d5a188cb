"""A digest of what large memory holds, by which copies of the same data are told.

A few blocks are read, through the kernel: an address that cannot be read is an error there, where
reading it here would end the program.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from leakguard.capture.heap.frameworks import Buffer

_BLOCKS = 64
_BLOCK = 64  # bytes


def digest(buffer: Buffer) -> str | None:
    """Return a digest of blocks spread over memory on the host.

    None where it cannot be read, is the same everywhere (nothing was written yet), or is a file's
    or shared: two views of one file are no copies.
    """
    if buffer.device != "cpu" or buffer.bytes < _BLOCKS * _BLOCK:
        return None
    try:
        if not _is_private(buffer.start):
            return None
        blocks = _blocks(buffer)
    except OSError:
        return None
    if len(set(blocks)) == 1:
        return None
    return hashlib.sha256(b"".join(blocks)).hexdigest()[:16]


def _blocks(buffer: Buffer) -> list[bytes]:
    stride = (buffer.bytes - _BLOCK) // (_BLOCKS - 1) // _BLOCK * _BLOCK  # whole numbers of items
    memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        starts = (buffer.start + number * stride for number in range(_BLOCKS))
        return [os.pread(memory, _BLOCK, start) for start in starts]
    finally:
        os.close(memory)


def _is_private(address: int) -> bool:
    return any(start <= address < end for start, end in _anonymous())


def _anonymous() -> Iterator[tuple[int, int]]:
    """Yield the ranges of memory that no file is behind."""
    with open("/proc/self/maps", "rb") as maps:
        for line in maps:
            span, _, _, _, inode = line.split(maxsplit=5)[:5]
            if inode == b"0":
                low, high = span.split(b"-")
                yield int(low, 16), int(high, 16)
