"""The results of the heap engine: values of the model, plus what is needed only during a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leakguard.capture.heap.growth import PathGrowth, PathMemory
from leakguard.model.births import Birthplace
from leakguard.model.census import Census, LargeObject
from leakguard.model.holder import Holder, Hop


@dataclass(frozen=True, slots=True)
class HeapCensus:
    """A census, the live instances of the watched classes, and the time that it took.

    Attributes:
        census: the live objects by type.
        watched: for each wanted name, the number of instances of the class and its subclasses.
        python_bytes: the sum of the objects' own sizes, without array and tensor memory.
        pooled_bytes: the part of ``python_bytes`` in the pools of Python's small-object allocator,
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
        """Bytes of process memory that the census accounts for, without files and devices."""
        census = self.census
        arrays = census.arrays.bytes if census.arrays else 0
        tensors = census.tensors.get("cpu")
        return self.python_bytes + arrays + (tensors.bytes if tensors else 0)

    def coverage(self, in_use: int) -> float | None:
        """Return the share of the memory in use that the census accounts for.

        ``in_use`` is the number of bytes that the C allocator reports; the bytes in Python's pools
        are added to it. The result is None if the sum is 0. It is below 1 because C and C++
        libraries also allocate memory that belongs to no Python object.
        """
        whole = in_use + self.pooled_bytes
        return self.accounted_bytes / whole if whole > 0 else None


@dataclass(frozen=True, slots=True)
class Held:
    """Who keeps one object alive.

    ``held_by`` is None for garbage that waits for the collector: no root leads to the object, only
    objects in a cycle do. ``held_by`` begins with ``(C code)`` if the way to the object begins at
    an object that no other object refers to. Then a registry in C (``atexit``, codecs, the
    functions of a database) or a running C function keeps the object alive.
    """

    type: str
    held_by: str | None
    trace: tuple[Hop, ...]
    retained_bytes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """Who holds what, at one look.

    Attributes:
        holders: containers that are worth naming. Those that grew come first; within each group,
            those with the largest share of the bytes that they keep alive come first.
        growing: the growth of the holders that grew, by path: the size now and before, and the
            number of looks at which they grew.
        large: instances and buffers that retain at least the wanted bytes, with their holders.
        held: one answer for each target, in their order; None if the walk found no object at the
            target's address.
        memory: the sizes with which the next look is compared; numbers only.
        objects: the number of objects that the walk found.
        bytes: the size of these objects, including array memory.
        garbage: the number of objects that wait for the collector: no root leads to them, and C
            code does not hold them.
        garbage_bytes: the size of the garbage.
        cycles: for the most common classes of the garbage, the path from an instance back to
            itself; None if cycles were not asked for.
        garbage_types: how many of these objects there are of each type, if cycles were asked for.
        made_garbage: where the instances of these classes were made, according to sampled births.
        born_garbage: where garbage was made, if cycles were asked for.
        unheld: where what none of the holders gains was made, according to sampled births.
        seconds: wall time of the look.
        engine: ``"compiled"`` or ``"python"``.
    """

    holders: tuple[Holder, ...]
    growing: Mapping[str, PathGrowth]
    large: tuple[LargeObject, ...]
    held: tuple[Held | None, ...]
    memory: PathMemory
    objects: int
    bytes: int
    garbage: int
    garbage_bytes: int
    cycles: Mapping[str, tuple[Hop, ...]] | None
    garbage_types: Mapping[str, int]
    made_garbage: Mapping[str, tuple[Birthplace, ...]]
    born_garbage: tuple[Birthplace, ...]
    unheld: tuple[Birthplace, ...]
    seconds: float
    engine: str
