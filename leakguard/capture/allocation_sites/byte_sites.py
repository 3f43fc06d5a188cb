"""Lines ranked by the bytes that they left behind, from tracemalloc or memray."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from dataclasses import replace

from leakguard.capture.library import OWN_FOLDER
from leakguard.capture.stack import Frame, described, named, origin, place
from leakguard.model import Site

#: Fewer bytes than this, one page, are not reported as a leak of a line.
SMALLEST = 4_096
#: Most lines that are reported. Chosen.
MOST_SITES = 5
# tracemalloc groups the blocks in use by stack. Only the groups with the most bytes are described,
# at most this many. Chosen: a description takes time, because the source files of the stack are
# read.
_MOST_GROUPS = 200
# In CPython, a block of at most ``_POOLED`` bytes lies in a pool, and its size is rounded up to a
# multiple of ``_STEP`` bytes. Source: Objects/obmalloc.c.
_POOLED, _STEP = 512, 16
# Bytes of the header of a block of glibc's malloc, and of its smallest block, header included.
# Source: malloc/malloc.c of glibc.
_MALLOC_HEADER, _LEAST_CHUNK = 8, 32


def in_use(size: int, count: int, *, pooled: bool) -> int:
    """Return the bytes occupied by ``count`` allocations that total ``size`` requested bytes.

    ``pooled`` says that they were made by Python's allocators, which pass large requests on to the
    C allocator.
    """
    each = size / max(count, 1)
    if pooled and each <= _POOLED:
        return count * max(_STEP, _rounded(each))
    return count * max(_LEAST_CHUNK, _rounded(each + _MALLOC_HEADER))


def _rounded(size: float) -> int:
    return -int(-size // _STEP) * _STEP


def largest(sites: Iterable[Site]) -> list[Site]:
    """Merge the sites of each line; return the lines with the most bytes.

    A merged site has the stack that left the most bytes.
    """
    merged: dict[str, Site] = {}
    for site in sorted(sites, key=_traced_bytes):
        known = merged.get(site.place)
        count, size = (0, 0) if known is None else (known.count, _traced_bytes(known))
        merged[site.place] = replace(
            site, count=count + site.count, bytes=size + _traced_bytes(site)
        )
    found = [s for s in merged.values() if _traced_bytes(s) >= SMALLEST and s.place != "?:0"]
    return sorted(found, key=_traced_bytes, reverse=True)[:MOST_SITES]


def _traced_bytes(site: Site) -> int:
    return site.bytes or 0


def traced_blocks(tracer: str) -> list[Site]:
    """Return the lines whose blocks are still in use, according to tracemalloc."""
    groups = tracemalloc.take_snapshot().statistics("traceback")
    kept = (g for g in groups if not g.traceback[-1].filename.startswith(OWN_FOLDER))
    chosen = [group for _, group in zip(range(_MOST_GROUPS), kept, strict=False)]
    return largest(_block_site(group, tracer) for group in chosen)


def _block_site(group: tracemalloc.Statistic, tracer: str) -> Site:
    stack = [named(frame.filename, frame.lineno) for frame in reversed(group.traceback)]
    size = in_use(group.size, group.count, pooled=True)
    return byte_site(stack, group.count, size, tracer)


def byte_site(stack: list[Frame], count: int, size: int, tracer: str) -> Site:
    """Return the site of allocations that belong to no object."""
    asked = origin(stack)
    at = stack[asked]
    return Site(place(at), at.function, size, count, described(stack, asked), tracer)
