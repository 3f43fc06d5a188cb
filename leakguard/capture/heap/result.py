"""What the heap engine returns: the model's census with what only this moment needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leakguard.capture.heap.growth import PathGrowth, PathMemory
from leakguard.model.census import Census, LargeObject
from leakguard.model.holder import Holder, Hop


@dataclass(frozen=True, slots=True)
class HeapCensus:
    """A census, the live instances of the watched classes, and what it cost.

    Attributes:
        watched: for each asked name, the instances of the class and of its subclasses.
        python_bytes: objects' own sizes in all, array and tensor memory left out.
        pooled_bytes: the part of them that lies in the pools of Python's small-object allocator,
            which the C allocator does not count as in use.
        seconds: wall time of the walk.
        engine: ``"compiled"`` or ``"python"``.
    """

    census: Census
    watched: Mapping[str, int]
    python_bytes: int
    pooled_bytes: int
    seconds: float
    engine: str

    @property
    def accounted_bytes(self) -> int:
        """Bytes of process memory that the census explains: files and devices left out."""
        census = self.census
        arrays = census.arrays.bytes if census.arrays else 0
        tensors = census.tensors.get("cpu")
        return self.python_bytes + arrays + (tensors.bytes if tensors else 0)

    def coverage(self, in_use: int) -> float | None:
        """Return the share of the memory in use that the census explains; None if that is 0.

        ``in_use`` is what the C allocator reports; the pools beside it are added here. The share
        stays below 1 by what C and C++ libraries allocate for themselves.
        """
        whole = in_use + self.pooled_bytes
        return self.accounted_bytes / whole if whole > 0 else None


@dataclass(frozen=True, slots=True)
class Held:
    """Who keeps one object alive.

    ``held_by`` is None where no way from a root was found and other objects without one lead to it:
    garbage that waits for the collector. It begins with ``(C code)`` where no object does: a
    registry in C (``atexit``, codecs, a database's functions) or a running C function keeps it.
    """

    type: str
    held_by: str | None
    trace: tuple[Hop, ...]
    retained_bytes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """Who holds what, at one look.

    Attributes:
        holders: containers, those that grew at every look first, each group by falling share of
            the bytes they keep alive.
        growing: the holders that grew at every look so far, by path: their entries now and
            before, and at how many looks in a row they grew.
        large: instances and buffers that retain at least the asked bytes, with who holds them.
        held: one answer for each target, in their order; None where nothing lies there that
            something refers to.
        memory: what the next look is compared with; numbers only.
        objects: how many objects the walk saw, and their ``bytes``, array memory included.
        adrift: objects that no root leads to, and ``adrift_bytes``: held by running C code, or
            garbage that waits for the collector.
        cycles: for the classes most common among those, the way from an instance back to itself;
            None where nobody wanted to know.
    """

    holders: tuple[Holder, ...]
    growing: Mapping[str, PathGrowth]
    large: tuple[LargeObject, ...]
    held: tuple[Held | None, ...]
    memory: PathMemory
    objects: int
    bytes: int
    adrift: int
    adrift_bytes: int
    cycles: Mapping[str, tuple[Hop, ...]] | None
    seconds: float
    engine: str
