"""Where the objects that survive a generation were made: one generation is traced to find out.

``tracemalloc`` tells for a live object which lines made it, so it serves whatever has a Python
type; it knows the blocks of Python's allocators, too. ``memray`` sees what native code allocates,
and tells bytes by line. It may come after tracemalloc and never before: once a memray tracker has
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
    """One traced generation: it starts when it is made, and ends with ``survivors`` or ``stop``."""

    name: str

    def survivors(self, suspects: Sequence[Suspect]) -> list[int]: ...
    def sites(self, held_by: Sequence[str | None]) -> list[Site]: ...
    def stop(self) -> None: ...


class Start(Protocol):
    """Starts a tracer; a ``shallow`` trace costs less and knows the innermost calls only."""

    def __call__(self, suspects: Sequence[Suspect], *, shallow: bool) -> Tracer: ...


TRACERS: Mapping[str, Start] = {"memray": BytesTrace, "tracemalloc": ObjectTrace}


def fitting(trace: Trace, suspects: Sequence[Suspect]) -> str:
    """Return the name of the tool for these suspects; objects come before bytes."""
    if trace != "auto":
        return trace
    return "tracemalloc" if any(suspect.type for suspect in suspects) else "memray"
