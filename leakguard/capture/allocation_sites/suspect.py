"""The suspect whose origin a traced generation should find."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Suspect:
    """Something that grows: objects of a type, or bytes outside of known objects (``type`` None).

    ``in_pools`` is True if the bytes lie in Python's small-object allocator.
    """

    type: str | None = None
    held_by: str | None = None
    in_pools: bool = False
