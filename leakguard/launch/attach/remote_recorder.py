"""The recorder and the tracer of a process that is attached to: they ask copies of it."""

from __future__ import annotations

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

# Frames kept of a stack, as of a process that guards itself.
_FRAMES, _FRAMES_IF_SHALLOW = 16, 4


@dataclass(frozen=True, slots=True)
class Counted:
    """What a copy tells of numbers that only the process knows, and of what lives."""

    numbers: Measurement
    census: HeapCensus


@dataclass(frozen=True, slots=True)
class Traced:
    """What a copy tells of where something was made."""

    sites: tuple[Site, ...] = ()


@dataclass(slots=True)
class RemoteRecorder(Recorder):
    """Reads what the kernel tells of the target, and asks a copy of it for the rest.

    One reading is one look: the numbers and the census come from the same copy.
    """

    session: Attachment = field(kw_only=True)
    _counted: HeapCensus | str = "nothing was counted yet"

    def read(self) -> PackedMeasurement:
        """Read the numbers, and count what lives."""
        return self.read_all()

    def read_all(self) -> PackedMeasurement:
        """Read the numbers, and count what lives."""
        pid = self.session.target.pid
        seen = measure((("process", lambda: outside_view(pid)),))
        try:
            told = self.session.ask("census", Counted, large=self.large_object)
        except Unavailable as reason:
            self._counted = str(reason)
            seen.unavailable["allocator"] = str(reason)
            return PackedMeasurement(seen)
        self._counted = told.census
        seen.metrics.update(told.numbers.metrics)
        seen.unavailable.update(told.numbers.unavailable)
        return PackedMeasurement(seen)

    def remember(self) -> None:
        """Have the target's references walked for a first time."""
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
    ) -> Inspection:
        return self.session.ask(
            "inspection",
            Inspection,
            large=self.large_object,
            targets=list(targets),
            suspects=list(suspects),
        )


class RemoteTrace:
    """One generation of the target traced by its ``tracemalloc``; a ``Tracer``."""

    name = "tracemalloc"

    def __init__(
        self, session: Attachment, suspects: Sequence[Suspect] = (), *, shallow: bool = False
    ) -> None:
        """Have the target begin to trace."""
        self._session = session
        self._sites: tuple[Site, ...] = ()
        session.trace(_FRAMES_IF_SHALLOW if shallow else _FRAMES)

    def survivors(self, suspects: Sequence[Suspect]) -> list[int]:
        """Ask where what lives was made, and end the trace; who holds it is asked there, too."""
        names = sorted({suspect.type for suspect in suspects if suspect.type is not None})
        try:
            self._sites = self._session.ask("sites", Traced, names=names).sites
        finally:
            self.stop()
        return []

    def sites(self, held_by: Sequence[str | None]) -> list[Site]:
        """Return the sites, largest first."""
        return list(self._sites)

    def stop(self) -> None:
        """End the trace."""
        self._session.untrace()
