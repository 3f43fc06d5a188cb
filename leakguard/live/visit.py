"""One run of one phase, from its entry to its end."""

from __future__ import annotations

from leakguard.capture.packed import PackedCounts, PackedMeasurement
from leakguard.capture.peak import Peak
from leakguard.capture.probe import Unavailable
from leakguard.live import active
from leakguard.live.birth_watch import BirthWatch
from leakguard.live.look import Looker
from leakguard.live.numbers import Numbers
from leakguard.live.round import Round
from leakguard.live.safety import Safety
from leakguard.live.scribe import Scribe, SnapshotDraft


class PhaseVisit:
    """One run of one phase, from its entry to its end."""

    __slots__ = (
        "_began", "_births", "_counts", "_entry", "_looker", "_name", "_numbers", "_outer", "_path",
        "_peak", "_reading", "_round", "_safety", "_scribe",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        path: str,
        round_: Round,
        looker: Looker,
        scribe: Scribe,
        safety: Safety,
        births: BirthWatch,
        numbers: Numbers,
    ) -> None:
        self._name = name
        self._path = path
        self._round = round_
        self._looker = looker
        self._scribe = scribe
        self._safety = safety
        self._births = births
        self._numbers = numbers
        self._counts: PackedCounts | None = None

    def begun(self) -> bool:
        """Record the state before the phase; return whether that worked."""
        return self._safety.run(self._begin)

    def _begin(self) -> None:
        self._entry = self._round.enter(self._path, self._numbers.are_due)
        if self._entry.deep:
            self._counts = self._looker.counts()
        if self._entry.measured:
            recorder = self._looker.recorder
            with self._numbers.charged():
                self._reading = recorder.read()
                self._peak = recorder.peaks.start(self._reading.high_water)
        self._began = self._scribe.meter.elapsed
        self._outer = self._births.enter_phase(self._path)

    def end(self, error: BaseException | None) -> None:
        """Leave the phase and record it, unless its beginning could not be recorded."""
        active.close_phase(self._name, with_inner=active.is_interrupt(error))
        self._births.leave_phase(self._outer)
        self._safety.run(self._record, error)

    def _record(self, error: BaseException | None) -> None:
        seconds = self._scribe.meter.elapsed - self._began
        if not self._entry.measured:
            self._round.count(self._path, seconds)
        elif self._entry.deep:
            self._measure(seconds, error)
        else:
            with self._numbers.charged():
                self._measure(seconds, error)

    def _measure(self, seconds: float, error: BaseException | None) -> None:
        after = self._looker.recorder.read()
        peak = peak_of(self._looker, self._safety, self._peak, after)
        entry = self._reading.unpack().metrics
        self._round.leave(self._path, seconds, entry, after.unpack().metrics)
        if not self._entry.written:
            return
        look = (
            self._looker.census(after, self._counts, why="phase")
            if self._entry.deep
            else self._looker.glance(after)
        )
        number = self._round.number
        self._scribe.write_snapshot(
            SnapshotDraft(
                self._path if number is None else f"Gen {number}: After {self._path}",
                "phase",
                self._path,
                number,
                entry=entry,
                peak=peak,
                extra={} if error is None else {"Ended by": (type(error).__name__,)},
            ),
            look,
            self._round.index,
        )


def peak_of(
    looker: Looker, safety: Safety, peak: Peak | None, reading: PackedMeasurement
) -> dict[str, int | float]:
    """Return the peak of the phase or generation that ends; empty, with a note, if unknown."""
    if peak is None:
        return {}
    try:
        return {"peak": looker.recorder.peaks.stop(peak, reading.high_water)}
    except Unavailable as reason:
        safety.note("peak", reason)
        return {}
