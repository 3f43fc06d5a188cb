"""Wall and CPU seconds of a run, without those in which it is judged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Runs from the start; `stopped()` leaves out what is done inside of it."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Nothing in here is counted."""
        wall, cpu = self.seconds()
        yield
        now_wall, now_cpu = self.seconds()
        self._wall += now_wall - wall
        self._cpu += now_cpu - cpu

    def seconds(self) -> tuple[float, float]:
        """Wall and CPU seconds so far."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu
