"""What the heap engine returns: the model's census with what only this moment needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leakguard.model.census import Census


@dataclass(frozen=True, slots=True)
class HeapCensus:
    """A census, the live instances of the watched classes, and what it cost.

    Attributes:
        watched: for each asked name, the instances of the class and of its subclasses.
        python_bytes: objects' own sizes in all, array and tensor memory left out.
        seconds: wall time of the walk.
        engine: ``"compiled"`` or ``"python"``.
    """

    census: Census
    watched: Mapping[str, int]
    python_bytes: int
    seconds: float
    engine: str

    @property
    def accounted_bytes(self) -> int:
        """Bytes of process memory that the census explains: files and devices left out."""
        census = self.census
        arrays = census.arrays.bytes if census.arrays else 0
        tensors = census.tensors.get("cpu")
        return self.python_bytes + arrays + (tensors.bytes if tensors else 0)
