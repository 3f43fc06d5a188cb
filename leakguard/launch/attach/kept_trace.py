"""A trace of ``tracemalloc`` that records no more, and keeps what it has.

A copy of a traced process is traced, too. What it imports to read the trace then takes ten times as
long, while the process goes on unseen. ``tracemalloc`` itself can only stop and forget.
"""

from __future__ import annotations

import ctypes

_DOMAINS = 3  # raw, mem, object
#: Functions of one library or program lie closer together than this.
_NEAR = 1 << 26


class _Allocator(ctypes.Structure):
    """``PyMemAllocatorEx``: a context, and four functions that are called with it."""

    _fields_ = [("context", ctypes.c_void_p)] + [
        (name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")
    ]


def keep_trace() -> None:
    """Let this process record nothing more; only a copy, which soon ends, may do so.

    What it frees stays in the trace. Nothing is done unless each domain has an allocator whose
    context is an allocator of CPython's, as that of ``tracemalloc`` is.
    """
    behind = {domain: original for domain in range(_DOMAINS) if (original := _behind(domain))}
    if len(behind) == _DOMAINS:
        for domain, original in behind.items():
            ctypes.pythonapi.PyMem_SetAllocator(domain, ctypes.byref(original))


def _behind(domain: int) -> _Allocator | None:
    """Return the allocator behind the one of a domain; None if there may be none."""
    now = _Allocator()
    ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(now))
    if not now.context or not _is_of_python(now.malloc):
        return None
    original = _Allocator.from_address(now.context)
    return original if _is_of_python(original.malloc) else None


def _is_of_python(function: int | None) -> bool:
    here = ctypes.cast(ctypes.pythonapi.PyMem_SetAllocator, ctypes.c_void_p).value or 0
    return function is not None and abs(function - here) < _NEAR
