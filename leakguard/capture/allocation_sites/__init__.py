"""Traces one generation, to find where the objects that survive it were made.

``tracemalloc`` knows the lines that made a live object. It is used for everything that has a
Python type, and for the blocks of Python's allocators. ``memray`` traces the allocations of native
code, as bytes by line. It may run after tracemalloc but never before: once a memray tracker has
run, tracemalloc misses allocations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from leakguard.capture.allocation_sites.bytes_trace import BytesTrace
from leakguard.capture.allocation_sites.object_trace import ObjectTrace
from leakguard.capture.allocation_sites.suspect import Suspect
from leakguard.model import Site

__all__ = ["TRACERS", "BytesTrace", "ObjectTrace", "Start", "Suspect", "Tracer", "fitting"]

Trace = Literal["auto", "memray", "tracemalloc", "off"]


class Tracer(Protocol):
    """One traced generation, from its creation to ``survivors`` or ``stop``."""

    name: str

    def survivors(self, suspects: Sequence[Suspect]) -> list[int]: ...
    def sites(self, held_by: Sequence[str | None]) -> list[Site]: ...
    def stop(self) -> None: ...


class Start(Protocol):
    """Starts a tracer; a ``shallow`` trace is cheaper and keeps only the innermost calls."""

    def __call__(self, suspects: Sequence[Suspect], *, shallow: bool) -> Tracer: ...


TRACERS: Mapping[str, Start] = {"memray": BytesTrace, "tracemalloc": ObjectTrace}


def fitting(trace: Trace, suspects: Sequence[Suspect]) -> str:
    """Return the name of the tool for these suspects: tracemalloc if any of them has a type."""
    if trace != "auto":
        return trace
    return "tracemalloc" if any(suspect.type for suspect in suspects) else "memray"
