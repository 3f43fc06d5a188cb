"""Records what the pod of a job holds beside its processes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leakguard.capture.pod import SHARED_MEMORY, plasma_store, pod_memory
from leakguard.capture.process import memory_limit
from leakguard.live.sidecar.start import host_name
from leakguard.model.pod import Pod, Point
from leakguard.store.pod_file import write_pod

# Seconds from one reading to the next, and the most points that are kept of a place: beyond these,
# every second one is dropped, and the readings come half as often.
_READ_EVERY, _MOST_POINTS = 5.0, 240
# Seconds from one writing to the next: they double from the first to the second number.
_WRITTEN_AFTER, _WRITTEN_AT_LEAST = 5.0, 60.0
_STORE_PROCESS = "raylet"


@dataclass(slots=True)
class PodRecord:
    """The points of each place, and the file with them; ``pid`` is a process in the pod."""

    folder: Path
    pid: int
    read: Callable[[int], Mapping[str, int]] = pod_memory
    clock: Callable[[], float] = time.monotonic
    _points: dict[str, list[Point]] = field(default_factory=dict)
    _began: float = field(init=False)
    _next_reading: float = 0.0
    _every: float = _READ_EVERY
    _next_writing: float = 0.0
    _writings: float = _WRITTEN_AFTER

    def __post_init__(self) -> None:
        self._began = self.clock()

    def look(self, pids: Mapping[int, float] | None = None) -> None:
        """Read all places if it is time to; ``pids`` are the processes that could hold a store."""
        now = self.clock()
        if now < self._next_reading:
            return
        self._next_reading = now + self._every
        for place, size in _apart(dict(self.read(self.pid)), _plasma(pids or {})).items():
            points = self._points.setdefault(place, [])
            points.append((round(now - self._began, 1), size))
        if max(map(len, self._points.values()), default=0) > _MOST_POINTS:
            self._every *= 2
            for points in self._points.values():
                del points[1::2]
        if now >= self._next_writing:
            self._next_writing = now + self._writings
            self._writings = min(2 * self._writings, _WRITTEN_AT_LEAST)
            self.write()

    def write(self) -> None:
        """Write the file anew."""
        places = {place: tuple(points) for place, points in self._points.items()}
        with contextlib.suppress(OSError):
            write_pod(self.folder, Pod(host_name(), os.getpid(), memory_limit(), places))


def _plasma(pids: Mapping[int, float]) -> int | None:
    """Return the bytes of Ray's store of objects; None if no process is one."""
    sizes = [plasma_store(pid) for pid in pids if _name_of(pid) == _STORE_PROCESS]
    return max((size for size in sizes if size is not None), default=None)


def _apart(places: dict[str, int], plasma: int | None) -> Mapping[str, int]:
    """Return the places with Ray's store, whose files are in shared memory, as one of its own."""
    if plasma is None:
        return places
    rest = max(places.get(SHARED_MEMORY, plasma) - plasma, 0)
    return {**places, SHARED_MEMORY: rest, "Ray plasma": plasma}


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""
