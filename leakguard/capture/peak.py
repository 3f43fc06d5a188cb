"""The highest RSS of each phase, exact and without a sampling thread.

Writing ``5`` to ``/proc/self/clear_refs`` resets the kernel's high-water mark (VmHWM). The mark
belongs to the process, so a reset would erase the peak of every open phase. Therefore the mark is
recorded in all open phases before each reset, and the peaks of nested and concurrent phases stay
correct. The reading at every phase boundary contains the mark.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from io import FileIO
from weakref import WeakSet

from leakguard.alarm import pass_on
from leakguard.capture.probe import Unavailable
from leakguard.capture.process import process_memory


class Peak:
    """The highest RSS of a phase so far, in bytes; dropping this object ends the phase."""

    __slots__ = ("__weakref__", "bytes")

    def __init__(self) -> None:
        self.bytes = 0


class PeakMeter:
    """Keeps the running peak of every open phase; one meter serves the whole process."""

    def __init__(self) -> None:
        # Weak references, because an interrupt at the start of a phase may skip its ``stop``. The
        # peak of that phase would otherwise stay here forever.
        self._open: WeakSet[Peak] = WeakSet()
        self._lock = threading.Lock()
        self.unavailable: str | None = None

    def start(self, mark: float | None) -> Peak:
        """Begin a phase and return its peak; ``mark`` is the high-water mark just read."""
        peak = Peak()
        with self._lock:
            self._fold(mark)
            self._reset()
            self._open.add(peak)
        return peak

    def stop(self, peak: Peak, mark: float | None) -> int:
        """End a phase and return its peak in bytes; ``mark`` is the high-water mark just read.

        Raises:
            Unavailable: the mark cannot be reset or read here.
        """
        with self._lock:
            self._fold(mark)
            self._open.discard(peak)
        if self.unavailable is not None:
            raise Unavailable(self.unavailable)
        return peak.bytes

    def begin_anew(self) -> None:
        """Forget the high-water mark so far; the peaks of all open phases keep it."""
        with self.paused():
            pass

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude what the guard allocates inside the block from the peaks of all open phases."""
        with self._lock:
            self._fold(_high_water())
        try:
            yield
        finally:
            with self._lock:
                self._reset()

    def _fold(self, mark: float | None) -> None:
        if mark is None:
            self.unavailable = self.unavailable or "the high-water mark of RSS cannot be read"
            return
        for peak in self._open:
            peak.bytes = max(peak.bytes, int(mark))

    def _reset(self) -> None:
        if self.unavailable is not None:
            return
        try:
            with FileIO("/proc/self/clear_refs", "w") as file:
                file.write(b"5")
        except OSError as error:
            pass_on(error)
            self.unavailable = f"the high-water mark cannot be reset: {error.strerror}"


def _high_water() -> float | None:
    try:
        return process_memory().get("rss_high_water")
    except (OSError, Unavailable) as error:
        pass_on(error)
        return None
