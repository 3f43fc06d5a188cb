"""Memory that the allocators of C and Python have handed out, and freed memory that they keep.

CPython reports the numbers of its small-object allocator only as text, which
``sys._debugmallocstats`` prints. The C function that prints this text accepts any C stream.
It is therefore called with a stream in memory, from which the text is read.
"""

from __future__ import annotations

import _tracemalloc
import ctypes
import functools
import re
import sys
import sysconfig
from typing import Any

from leakguard.capture.births import doubled_bytes, pools_in_sight
from leakguard.capture.probe import Reading, Unavailable, measure

# Bytes that tracemalloc takes for each block beside what it says: its note of 16 bytes has a block
# of 32, and the entry of its table, of 32 bytes, one of 48. Measured with mallinfo2, 3.10 to 3.13.
_EACH_TRACE = 48
_FOREIGN_ALLOCATORS = (b"jemalloc", b"tcmalloc", b"mimalloc", b"hoard")


class _MallocInfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    )  # fmt: skip


def allocator_memory() -> Reading:
    """Read the bytes in use and the freed bytes that the allocator keeps, over all arenas.

    Small objects that the record of births has here have their places in the pools, and count
    there. What tracemalloc remembers of each block is no memory of the program.
    """
    info = _mallinfo2()()
    in_use = info.uordblks + info.hblkhd - doubled_bytes() - _traced_bytes()
    return {"heap_in_use": in_use, "heap_held": info.fordblks}


def _traced_bytes() -> int:
    """Return the bytes that tracemalloc keeps of the blocks that it traces; 0 if it traces none."""
    if not _tracemalloc.is_tracing():
        return 0
    return int(_tracemalloc.get_tracemalloc_memory()) + _EACH_TRACE * sys.getallocatedblocks()


def heap_in_use() -> int:
    """Return the bytes in use of the C allocator; 0 if they are unknown."""
    return int(measure((("allocator", allocator_memory),)).metrics.get("heap_in_use", 0))


def python_blocks() -> Reading:
    """Read the number of blocks in use in Python's small-object allocator.

    Blocks of freed objects that the interpreter keeps for later ones are not in use.
    """
    return {"python_blocks": sys.getallocatedblocks() - _spare()[0]}


def _spare() -> tuple[int, int]:
    """Return the number and the bytes of the blocks that are kept for later objects.

    They are unknown, and (0, 0), until the heap was looked at: an import would add to what is
    measured here.
    """
    engine = sys.modules.get("leakguard.capture.heap.engine")
    return (0, 0) if engine is None else engine.spare()


@functools.cache
def allocator_name() -> str | None:
    """Return ``"glibc"`` or the name of a preloaded allocator; None if it is unknown."""
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


_ARENAS = re.compile(rb"arenas \* \d+ bytes/arena\s*=\s*([\d,]+)")
_IN_USE = re.compile(rb"# bytes in allocated blocks\s*=\s*([\d,]+)")


def pool_memory() -> Reading:
    """Read the bytes in use in pools, and the free bytes of mapped arenas.

    Reading takes about 10 µs, plus 3 ms for each GB of small objects, because the interpreter
    reads the header of every pool.
    """
    text = _statistics()
    if not text and _tracemalloc.is_tracing():
        raise Unavailable("tracemalloc traces this process, and hides the small-object allocator")
    if not text:  # PYTHONMALLOC=malloc: the C allocator serves small objects too
        return {"python_in_use": 0, "python_held": 0}
    arenas, in_use = _ARENAS.search(text), _IN_USE.search(text)
    if arenas is None or in_use is None:
        raise Unavailable(
            "this Python does not print the statistics of its allocator in the known form"
        )
    used = _digits_value(in_use[1]) - _spare()[1]
    return {"python_in_use": used, "python_held": _digits_value(arenas[1]) - used}


def _digits_value(digits: bytes) -> int:
    return int(digits.replace(b",", b""))


def _statistics() -> bytes:
    library, print_to = _functions()
    start, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = library.open_memstream(ctypes.byref(start), ctypes.byref(size))
    if not stream:
        raise Unavailable("the C library has no memory for a stream")
    with pools_in_sight():
        print_to(stream)
    library.fclose(stream)
    try:
        return ctypes.string_at(start, size.value)
    finally:
        library.free(start)


@functools.cache
def _functions() -> tuple[ctypes.CDLL, Any]:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise Unavailable(
            "free-threaded Python allocates with mimalloc, which reports no statistics"
        )
    library = ctypes.CDLL(None)
    print_to = getattr(ctypes.pythonapi, "_PyObject_DebugMallocStats", None)
    if print_to is None or not hasattr(library, "open_memstream"):
        raise Unavailable("this platform cannot print the allocator's statistics to memory")
    library.open_memstream.restype = ctypes.c_void_p
    library.fclose.argtypes = library.free.argtypes = [ctypes.c_void_p]
    print_to.argtypes = [ctypes.c_void_p]
    return library, print_to
