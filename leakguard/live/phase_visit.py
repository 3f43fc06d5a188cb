"""One run of one phase, from its entry to its end."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from leakguard.capture.packed import PackedCounts, PackedMeasurement
from leakguard.live import active
from leakguard.model import Snapshot

if TYPE_CHECKING:
    from leakguard.live.watcher import Watcher


class PhaseVisit:
    """One run of one phase, from its entry to its end."""

    __slots__ = (
        "_began", "_counts", "_deep", "_entry", "_name", "_outer", "_round", "_ticket", "_watcher",
        "_writes",
    )  # fmt: skip

    def __init__(self, watcher: Watcher, name: str, outer: tuple[str, ...]) -> None:
        self._watcher = watcher
        self._name = name
        self._outer = outer
        self._round = watcher.round
        self._writes, self._deep = self._round.enter(name)
        self._ticket: int | None = None
        self._counts: PackedCounts | None = None

    def begin(self) -> None:
        """Note how things stand before the phase."""
        watcher = self._watcher
        if self._deep:
            self._counts = watcher.recorder.counts()
        self._entry = watcher.recorder.read()
        self._ticket = watcher.recorder.peaks.start(self._entry.high_water)
        self._began = watcher.clock()

    def end(self, error: BaseException | None) -> None:
        """Leave the phase and record it."""
        active.set_open_phases(self._outer)
        self._watcher.safely(self._record, error)

    def _record(self, error: BaseException | None) -> None:
        if self._ticket is None:  # the phase could not be begun; the reason is noted already
            return
        watcher = self._watcher
        seconds = watcher.clock() - self._began
        after = watcher.recorder.read()
        peak = watcher.peak_of(self._ticket, after)
        if self._writes:
            make = functools.partial(self._snapshot, after, peak, error)
            watcher.record(make, deep=self._deep, before=self._counts)
        entry = self._entry.unpack().metrics
        self._round.leave(self._name, seconds, entry, after.unpack().metrics)

    def _snapshot(
        self, after: PackedMeasurement, peak: dict[str, int | float], error: BaseException | None
    ) -> Snapshot:
        number = self._round.number
        return Snapshot(
            0,
            self._name if number is None else f"Gen {number}: After {self._name}",
            "phase",
            self._name,
            number,
            metrics={**after.unpack().metrics, **peak},
            entry=self._entry.unpack().metrics,
            extra={} if error is None else {"Ended by": (type(error).__name__,)},
        )
