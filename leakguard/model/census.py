"""What lives on the heap, by type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Nodes of torch's backward graphs are counted like a type, under the name of their base class: they
# live in C++, and no collector knows them.
GRAPH_NODE = "torch.autograd.graph.Node"


@dataclass(frozen=True, slots=True)
class TypeCount:
    """Live objects of one exact type.

    ``bytes`` is their own size, with the storage of arrays and tensors; what they refer to is not
    in it. None where only the count is known (a text log).
    """

    count: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Storage:
    """Array or tensor memory: ``objects`` share ``storages`` unique buffers of ``bytes`` in all."""

    objects: int = 0
    storages: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class LargeObject:
    """One object at or above the large-object threshold, by its own storage or what it retains.

    ``digest`` is the same for arrays whose contents are, as far as samples tell; None where they
    were not read.
    """

    type: str
    bytes: int
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    held_by: str | None = None
    retained_bytes: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Census:
    """A count of the live objects of a process at one moment, untracked leaves included.

    ``types`` maps the qualified type name (builtins bare) to its count; when ``complete`` is
    false, a type that is not in it is unknown, not absent. A run file leaves out what is as it was
    in the run's first census; reading it puts that back.
    ``tensors`` maps a device to its unique storage; ``arrays`` and ``mapped`` (memory-mapped
    files) are numpy's.
    """

    types: Mapping[str, TypeCount] = field(default_factory=dict)
    complete: bool = True
    objects: int | None = None
    bytes: int | None = None
    arrays: Storage | None = None
    mapped: Storage | None = None
    tensors: Mapping[str, Storage] = field(default_factory=dict)
    large: tuple[LargeObject, ...] = ()

    def count(self, type_name: str) -> int | None:
        """Return the live count of a type, or None if this census does not have it."""
        entry = self.types.get(type_name)
        if entry is not None:
            return entry.count
        return 0 if self.complete else None
