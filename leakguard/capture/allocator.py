"""What the C allocator has handed out, and what it keeps although it was freed."""

from __future__ import annotations

import ctypes
import functools
import sys

from leakguard.capture.probe import Reading, Unavailable

_FOREIGN_ALLOCATORS = (b"jemalloc", b"tcmalloc", b"mimalloc", b"hoard")


class _MallocInfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    )  # fmt: skip


def allocator_memory() -> Reading:
    """Read the bytes in use and the freed bytes held back, over all arenas and threads."""
    info = _mallinfo2()()
    return {"heap_in_use": info.uordblks + info.hblkhd, "heap_held": info.fordblks}


def python_blocks() -> Reading:
    """Read the number of blocks in use in Python's small-object allocator."""
    return {"python_blocks": sys.getallocatedblocks()}


@functools.cache
def allocator_name() -> str | None:
    """Return ``"glibc"`` or the name of a preloaded allocator; None where it cannot be told."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            text = maps.read()
    except OSError:
        return None
    for name in _FOREIGN_ALLOCATORS:
        if name in text:
            return name.decode()
    return "glibc" if hasattr(ctypes.CDLL(None), "gnu_get_libc_version") else None


@functools.cache
def _mallinfo2() -> ctypes._NamedFuncPointer:
    name = allocator_name()
    if name != "glibc":
        raise Unavailable(f"the allocator is {name or 'unknown'}; in-use bytes are known for glibc")
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        raise Unavailable("this glibc is older than 2.33 and has no mallinfo2")
    function = library.mallinfo2
    function.restype = _MallocInfo
    return function
