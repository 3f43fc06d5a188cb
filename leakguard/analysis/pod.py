"""What a pod holds beside its processes: a row for each place, and whether it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from leakguard.analysis.words import job as words
from leakguard.model.pod import Pod, PodRow, Point
from leakguard.model.units import MB

# The lowest points of this many parts of the record must rise, each by at least this many bytes.
# Chosen as for the memory of a process that is followed from outside; a file of shared memory that
# comes and goes raises none of them.
_PARTS, _LEAST_STEP = 4, 1 * MB
# The fewest points of a part.
_POINTS_OF_A_PART = 2
# A place with less is not worth a row. Chosen.
_SMALL = 1 * MB
#: The kernel drops it before it kills a process, so its growth is no leak.
PAGE_CACHE = "page cache"
#: It has a capacity, and removes objects when that is reached.
PLASMA = "Ray plasma"


def pod_rows(pods: Sequence[Pod]) -> Iterator[PodRow]:
    """Yield a row for each place that holds something worth telling."""
    for pod in pods:
        for place, points in pod.places.items():
            rate = _bytes_per_minute(points)
            if points and (rate or points[-1][1] >= _SMALL):
                minutes = (points[-1][0] - points[0][0]) / 60
                yield PodRow(pod.host, place, points[-1][1], rate, minutes)


def growing_places(rows: Sequence[PodRow]) -> list[PodRow]:
    """Return the rows whose growth is a suspect: files that nobody removes."""
    return [r for r in rows if r.bytes_per_minute and r.place not in (PAGE_CACHE, PLASMA)]


def pod_remarks(rows: Sequence[PodRow]) -> Iterator[str]:
    """Yield what the rows together say."""
    held = [row for row in rows if row.place != PAGE_CACHE]
    total = sum(row.bytes for row in held)
    yield from words.pod_remarks(total, growing_places(rows))


def _bytes_per_minute(points: Sequence[Point]) -> float:
    """Return the growth of a place that rises from part to part of its record; 0 of another."""
    size = len(points) // _PARTS
    if size < _POINTS_OF_A_PART:
        return 0.0
    begins = range(len(points) - _PARTS * size, len(points), size)
    parts = [points[begin : begin + size] for begin in begins]
    floors = [min(part, key=lambda point: point[1]) for part in parts]
    if any(b[1] - a[1] < _LEAST_STEP for a, b in pairwise(floors)):
        return 0.0
    (began, least), (ended, most) = floors[0], floors[-1]
    return 60 * (most - least) / (ended - began) if ended > began else 0.0
