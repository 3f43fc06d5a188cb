"""What a pod (a container, or a machine) holds beside the memory of its processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Seconds since the record began, and bytes.
Point = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a job, over time.

    Memory of a file in ``/dev/shm`` that a process has mapped is in the RSS of that process as
    well. The page cache is dropped by the kernel before it kills anything.

    Attributes:
        host: its name.
        observer: the pid of the process that read it.
        limit: bytes that it may use; None if unknown.
        places: for each place in memory, its bytes over time.
    """

    host: str
    observer: int
    limit: int | None
    places: Mapping[str, tuple[Point, ...]]


@dataclass(frozen=True, slots=True)
class PodRow:
    """One place in the memory of a pod in the report of a job.

    Attributes:
        host: the pod.
        place: what holds the memory: ``page cache``, ``/dev/shm``, ``tmpfs /tmp``, ``Ray plasma``.
        bytes: what it held last.
        bytes_per_minute: its growth if it rose to the end; 0 if it did not.
        minutes: for how long it was followed.
    """

    host: str
    place: str
    bytes: int
    bytes_per_minute: float
    minutes: float
