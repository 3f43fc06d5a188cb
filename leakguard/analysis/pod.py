"""What a pod holds beside its processes: a row for each place, and whether it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from leakguard.analysis.tolerance import FEWEST_LOOKS, MATERIAL_BYTES, REPEATED
from leakguard.analysis.words import job as words
from leakguard.model.pod import Pod, PodRow, Point

#: The kernel drops it before it kills a process, so its growth is no leak.
PAGE_CACHE = "page cache"
#: It has a capacity, and removes objects when that is reached.
PLASMA = "Ray plasma"


def pod_rows(pods: Sequence[Pod]) -> Iterator[PodRow]:
    """Yield a row for each place that holds something worth telling."""
    for pod in pods:
        for place, points in pod.places.items():
            rate = _bytes_per_minute(points)
            if points and (rate or points[-1][1] >= MATERIAL_BYTES):
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
    parts = FEWEST_LOOKS + 1  # so many rises make a trend
    size = len(points) // parts
    if size < REPEATED:
        return 0.0
    begins = range(len(points) - parts * size, len(points), size)
    pieces = [points[begin : begin + size] for begin in begins]
    floors = [min(part, key=lambda point: point[1]) for part in pieces]
    if any(b[1] - a[1] < MATERIAL_BYTES for a, b in pairwise(floors)):
        return 0.0
    (began, least), (ended, most) = floors[0], floors[-1]
    return 60 * (most - least) / (ended - began) if ended > began else 0.0
