"""Live objects on the heap, counted by type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Nodes of torch's backward graphs are counted like a type, under the name of their base class. They
# are C++ objects, which Python's garbage collector does not track.
GRAPH_NODE = "torch.autograd.graph.Node"


@dataclass(frozen=True, slots=True)
class TypeCount:
    """Live objects of one exact type.

    ``bytes`` is the size of the objects themselves, with the storage of arrays and tensors but
    without the objects that they refer to. None if only the count is known (a text log).
    """

    count: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Storage:
    """Array or tensor memory: ``objects`` use ``storages`` unique buffers of ``bytes`` in total."""

    objects: int = 0
    storages: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class LargeObject:
    """One object whose own storage, or what it retains, reaches the large-object threshold.

    ``digest`` is a hash of samples of the contents: arrays with equal contents have equal digests.
    None if the contents were not read.
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

    ``types`` maps the qualified type name (builtins bare) to its count. If ``complete`` is false,
    the count of a type that is missing from ``types`` is unknown, not 0. A run file leaves out each
    count that is the same as in the run's first census; the reader of the file restores it.
    ``tensors`` maps a device to its unique storage. ``arrays`` and ``mapped`` (memory-mapped files)
    count numpy arrays.
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
