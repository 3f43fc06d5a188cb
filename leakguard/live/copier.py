"""Chooses between a look in this process and one in a copy of it, by what each costs.

A look in this process costs its own seconds of it. One in a copy costs the copy of the page tables,
some 25 ms a GB of small pages and next to nothing of huge ones, and then one fault for each page
that the program writes to while the copy lives. So a copy wins where objects are many, and loses
where memory is large in small pages, or all of it is written to all the time.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leakguard.capture.allocation_sites.object_trace import is_traced_by_memray
from leakguard.capture.headroom import (
    cores,
    dies_as_one,
    free_memory,
    is_busy,
    small_page_bytes,
)
from leakguard.capture.heap.process_copy import CopyFailed, CopyRefused, ProcessCopy
from leakguard.capture.probe import Unavailable

#: Set to 0, no look is ever taken in a copy; set to 1, each that can be is, whatever it costs.
VARIABLE = "LEAKGUARD_COPY"
# Seconds a byte of anonymous memory in small pages: measured 25 ms a GB (reports/heap).
_A_BYTE = 25e-12
# What a copy costs beside its pages: 1 to 3 ms to begin it and to take its answer.
_LEAST_PRICE = 3e-3
# Seconds that the first write to a page takes which a copy shares (reports/heap).
_A_FAULT = 3e-6
# A copy is chosen where it costs at most this share of the look here.
_WORTH = 0.5
# Looks that take less are not worth a second process, seconds.
_CHEAP = 0.02
# The second core is the program's too: so much of the copy's own work counts in the choice between
# a look here and one in a copy.
_SECOND_CORE = 0.1
# So much of it is charged to the guard. Chosen: a look in a copy that costs this process next to
# nothing then takes twice what is charged, so that a `max_overhead` of 1 % of the time stays below
# 2 % of CPU time.
_CHARGED = 0.5
# A copy may take so many times what the look would take here, and so many seconds more.
_TIMES_OF_A_LOOK, _GRACE = 10.0, 15.0
# After so many copies in a row that came to nothing there are no more.
_MOST_FAILURES = 2
# What a walk needs of its own: bytes a block of Python's allocator, and at least.
_A_BLOCK, _LEAST_MEMORY = 300, 256_000_000
_TWO = 2  # cores: one for the program, one for the copy
_TRACERS = ("scalene", "filprofiler")  # loaded where they trace


@dataclass(slots=True)
class Copier:
    """Decides for one run which looks are taken in a copy.

    Attributes:
        price: what the last look in a copy cost this process, in seconds; None before the first.
        refusal: why there are no copies any more; None while there may be.
        crashes: how many looks ended their copy as they would have ended the program.
    """

    price: float | None = None
    refusal: str | None = None
    crashes: int = 0
    _failures: int = 0
    _bytes_then: int = 0
    _faults: int = field(default_factory=lambda: _page_faults())
    _since: float = field(default_factory=time.monotonic)
    _usual_rate: float = 0.0
    _cloned: float = 0.0

    def wise(
        self, here: float, metrics: Mapping[str, int | float], *, may_wait: bool = True
    ) -> bool:
        """Return whether a look that costs ``here`` seconds in this process is better copied.

        Its answer comes later; where it must not, it ``may_wait`` is False.
        """
        wanted = os.environ.get(VARIABLE)
        if self.refusal is not None or wanted == "0" or is_traced():
            return False
        if wanted == "1" or self.crashes:
            return True
        if not may_wait:
            return False
        affordable = here * _WORTH
        if here < _CHEAP or cores() < _TWO or is_busy():
            return False
        return (
            self._expected(metrics, affordable) <= affordable and _needed(metrics) <= free_memory()
        )

    def begin(
        self, work: Callable[[], bytes], here: float, metrics: Mapping[str, int | float]
    ) -> ProcessCopy | None:
        """Begin a copy that does ``work``; None, with ``refusal``, where it cannot be had."""
        now, faults = time.monotonic(), _page_faults()
        self._usual_rate = (faults - self._faults) / max(now - self._since, 1e-3)
        self._faults, self._since = faults, now
        memory = _LEAST_MEMORY + _A_BLOCK * int(metrics.get("python_blocks", 0))
        before = time.thread_time()
        try:
            copy = ProcessCopy.begin(work, seconds=_TIMES_OF_A_LOOK * here + _GRACE, memory=memory)
        except CopyRefused as refusal:
            self.refusal = str(refusal)
            return None
        self._cloned = time.thread_time() - before
        self._bytes_then = _anonymous(metrics)
        return copy

    def ended(self, copy: ProcessCopy) -> float:
        """Note that a copy brought its answer.

        Returns:
            Seconds to charge beside the guard's own work: the faults of the program on pages that
            it shared with the copy, and a part of what the copy did on another core.
        """
        now, faults = time.monotonic(), _page_faults()
        usual = self._usual_rate * (now - self._since)
        extra = _SECOND_CORE * copy.seconds + _A_FAULT * max(faults - self._faults - usual, 0.0)
        self._faults, self._since = faults, now
        self._failures = 0
        self.price = self._cloned + extra
        return extra + (_CHARGED - _SECOND_CORE) * copy.seconds

    def failed(self, failure: CopyFailed) -> None:
        """Note that a copy came to nothing."""
        self.crashes += failure.crashed
        self._failures += 1
        if self._failures >= _MOST_FAILURES:
            self.refusal = f"looks in a copy came to nothing: {failure}"

    def _expected(self, metrics: Mapping[str, int | float], affordable: float) -> float:
        """Return what a copy will cost; exactly only where that decides."""
        size = _anonymous(metrics)
        if self.price is not None:
            return self.price * max(size / max(self._bytes_then, 1), 1.0)
        most = _LEAST_PRICE + _A_BYTE * size
        if most <= affordable:
            return most
        try:
            return _LEAST_PRICE + _A_BYTE * small_page_bytes()
        except Unavailable:
            return most


def is_traced() -> bool:
    """Return whether a tracer would write down what a copy does, or blocks are not plain."""
    traced = tracemalloc.is_tracing() or is_traced_by_memray()
    if traced or any(name in sys.modules for name in _TRACERS):
        return True
    # Blocks of a debugging allocator begin elsewhere than the C library thinks.
    return bool(os.environ.get("PYTHONMALLOC")) or bool(sys.flags.dev_mode)


def _needed(metrics: Mapping[str, int | float]) -> int:
    """Return the bytes that a copy may come to: its tables, and half of all pages written to.

    All of them, where the program would die of it: elsewhere the copy is ended first.
    """
    blocks = int(metrics.get("python_blocks", 0))
    written = _anonymous(metrics) // (1 if dies_as_one() else 2)
    return _LEAST_MEMORY + _A_BLOCK * blocks + written


def _anonymous(metrics: Mapping[str, int | float]) -> int:
    return int(metrics.get("rss_anonymous", metrics.get("rss", 0)))


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
