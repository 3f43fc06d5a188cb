"""The recorder and the tracer of an attached process: they ask copies of the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from leakguard.capture.allocation_sites import Suspect
from leakguard.capture.heap import HeapCensus, Inspection
from leakguard.capture.outside import outside_view
from leakguard.capture.packed import PackedMeasurement
from leakguard.capture.probe import Measurement, Unavailable, measure
from leakguard.capture.recorder import Recorder
from leakguard.launch.attach.attachment import Attachment
from leakguard.model import Site

# Frames kept of a stack, in a trace and in a shallow trace. ``allocation_sites.object_trace`` gives
# the reasons, and has the same numbers for a process that traces itself.
_FRAMES, _FRAMES_IF_SHALLOW = 16, 4


@dataclass(frozen=True, slots=True)
class Counted:
    """A copy's answer: when it was made, numbers that only the process can read, and the census.

    ``at`` is by the clock of the machine, ``time.monotonic``.
    """

    at: float
    numbers: Measurement
    census: HeapCensus


@dataclass(frozen=True, slots=True)
class Traced:
    """A copy's answer: the sites of live objects that were made while memory was traced."""

    sites: tuple[Site, ...] = ()


@dataclass(slots=True)
class RemoteRecorder(Recorder):
    """Reads the target's numbers that the kernel reports, and asks a copy of it for the others.

    One reading is one look: the numbers and the census come from the same copy. ``read_at`` is when
    it was made, by ``time.monotonic``. ``rounds`` is how many rounds of births have been recorded;
    None if they are not.
    """

    read_at: float = 0.0
    rounds: int | None = None
    session: Attachment = field(kw_only=True)
    _counted: HeapCensus | str = "nothing was counted yet"

    def read(self) -> PackedMeasurement:
        """Read the numbers and take the census."""
        return self.read_all()

    def read_all(self) -> PackedMeasurement:
        """Read the numbers and take the census."""
        pid, self.read_at = self.session.target.pid, time.monotonic()
        seen = measure((("process", lambda: outside_view(pid)),))
        try:
            told = self.session.ask("census", Counted, large=self.large_object)
        except Unavailable as reason:
            self._counted = str(reason)
            seen.unavailable["allocator"] = str(reason)
            return PackedMeasurement(seen)
        self._counted, self.read_at = told.census, told.at
        seen.metrics.update(told.numbers.metrics)
        seen.unavailable.update(told.numbers.unavailable)
        return PackedMeasurement(seen)

    def remember(self) -> None:
        """Have a copy of the target walk the heap for the first time, for later comparison."""
        self.session.ask("first walk", type(None))

    def _census(self) -> HeapCensus:
        if isinstance(self._counted, str):
            raise Unavailable(self._counted)
        return self._counted

    def _inspected(
        self,
        targets: Sequence[int],
        suspects: Sequence[str],
        tell_cycles: Callable[[int, int], bool] | None,
        *,
        read_source: bool = False,
    ) -> Inspection:
        return self.session.ask(
            "inspection",
            Inspection,
            large=self.large_object,
            targets=list(targets),
            suspects=list(suspects),
            read_source=read_source,
            rounds=self.rounds,
        )


class RemoteTrace:
    """A ``Tracer`` of one generation of the target, by the target's ``tracemalloc``."""

    name = "tracemalloc"

    def __init__(
        self, session: Attachment, suspects: Sequence[Suspect] = (), *, shallow: bool = False
    ) -> None:
        """Have the target begin to trace."""
        self._session = session
        self._sites: tuple[Site, ...] = ()
        session.trace(_FRAMES_IF_SHALLOW if shallow else _FRAMES)

    def survivors(self, suspects: Sequence[Suspect]) -> list[int]:
        """Ask for the sites of the live objects, and end the trace.

        The result is empty, because the copy of the target also finds the holders.
        """
        names = sorted({suspect.type for suspect in suspects if suspect.type is not None})
        try:
            self._sites = self._session.ask("sites", Traced, untrace=True, names=names).sites
        finally:
            self.stop()
        return []

    def sites(self, held_by: Sequence[str | None]) -> list[Site]:
        """Return the sites, largest first."""
        return list(self._sites)

    def stop(self) -> None:
        """End the trace."""
        self._session.untrace()
