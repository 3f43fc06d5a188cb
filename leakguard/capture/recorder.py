"""Reads the process into the values of a Snapshot, which reference no object of the user."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from leakguard.alarm import pass_on
from leakguard.capture import heap
from leakguard.capture.allocator import allocator_memory, pool_memory, python_blocks
from leakguard.capture.births import Survivors
from leakguard.capture.gpu import gpu_memory
from leakguard.capture.heap import HeapCensus, Held, Inspection, PathMemory
from leakguard.capture.heap.collector import collector_state
from leakguard.capture.packed import PackedCounts, PackedMeasurement
from leakguard.capture.peak import PeakMeter
from leakguard.capture.probe import Measurement, Probe, Unavailable, measure, reason_of
from leakguard.capture.process import process_memory
from leakguard.capture.resources import child_processes, open_files
from leakguard.capture.watchlist import Watchlist
from leakguard.model import Census, Collection, Gauge, TypeCount, Watched

BOUNDARY_PROBES: tuple[tuple[str, Probe], ...] = (
    ("process", process_memory),
    ("allocator", allocator_memory),
    ("blocks", python_blocks),
    ("gc", collector_state),
    ("files", open_files),
    ("gpu", gpu_memory),
)
# Read at the end of every generation, with or without an inspection. Together they take 25 µs,
# plus 3 ms for each GB of small objects.
ROUND_PROBES: tuple[tuple[str, Probe], ...] = (
    ("children", child_processes),
    ("pools", pool_memory),
)

# A gauge that has taken more than _SLOW_GAUGE seconds for _SLOW_TIMES times is not read anymore.
# Chosen: gauges are read at every phase, so slow gauges would slow the loop down.
_SLOW_GAUGE = 1.0
_SLOW_TIMES = 2

Gauges = Mapping[str, "tuple[Callable[[], float], float | None]"]


@dataclass(frozen=True, slots=True)
class Observation:
    """What one look measured.

    ``change`` is the change of the census since the phase began; None without a census from then.
    """

    metrics: dict[str, int | float]
    unavailable: dict[str, str]
    gauges: dict[str, Gauge]
    census: Census | None = None
    watched: dict[str, Watched] = field(default_factory=dict)
    change: dict[str, TypeCount] | None = None
    coverage: float | None = None

    @property
    def too_many(self) -> frozenset[str]:
        """The watched classes that have more instances than the user expects."""
        return frozenset(name for name, seen in self.watched.items() if seen.too_many)


@dataclass(slots=True)
class Recorder:
    """Looks at the process: probes, gauges and the heap.

    Attributes:
        watchlist: the classes that the user watches.
        gauges: the user's numbers by name, each with its capacity.
        large_object: see ``heap.census``.
        boundary: probes that run at every phase boundary, and at the end of every generation.
        round: probes that run only at the end of every generation.
        spares_heap: the reason why the heap is never walked; None if it is walked.
        longest_look: returns how many seconds of CPU time the next walk may take.
        survivors: returns the sampled blocks that are alive; None if births are not recorded.
    """

    watchlist: Watchlist
    gauges: Gauges
    large_object: int
    boundary: Sequence[tuple[str, Probe]] = BOUNDARY_PROBES
    round: Sequence[tuple[str, Probe]] = ROUND_PROBES
    peaks: PeakMeter = field(default_factory=PeakMeter)
    spares_heap: str | None = None
    longest_look: Callable[[], float] = lambda: heap.LONGEST
    survivors: Callable[[], Survivors | None] | None = None
    _paths: PathMemory | None = None
    _slow: dict[str, int] = field(default_factory=dict)

    def read(self) -> PackedMeasurement:
        """Read the numbers that are read at a phase boundary."""
        return PackedMeasurement(measure(self.boundary))

    def read_all(self) -> PackedMeasurement:
        """Read the numbers that are read at the end of a generation."""
        return PackedMeasurement(measure((*self.boundary, *self.round)))

    @property
    def may_look(self) -> bool:
        """False if the heap is never walked, or is not walked any more."""
        return self.spares_heap is None

    def counts(self) -> PackedCounts:
        """Return the live objects by type."""
        return PackedCounts(self._census().census.types)

    def observe(
        self, packed: PackedMeasurement, *, deep: bool, before: PackedCounts | None = None
    ) -> Observation:
        """Add the gauges to a reading and, if ``deep``, the result of a heap walk.

        ``before`` is what ``counts`` returned when the phase began.
        """
        result = self._walk() if deep else None
        reading = packed.unpack()
        gauges = self._read_gauges(reading)
        if isinstance(result, str):
            reading.unavailable["census"] = result
        seen = Observation(reading.metrics, reading.unavailable, gauges)
        return self._with_census(seen, result, before) if isinstance(result, HeapCensus) else seen

    def _with_census(
        self, seen: Observation, result: HeapCensus, before: PackedCounts | None
    ) -> Observation:
        return replace(
            seen,
            census=result.census,
            watched=self.watchlist.judge(result.watched),
            change=None if before is None else before.change_to(result.census.types),
            coverage=_coverage(result.accounted_bytes, seen.metrics),
        )

    def inspect(
        self,
        targets: Sequence[int],
        suspects: Sequence[str] = (),
        tell_cycles: Callable[[int, int], bool] | None = None,
        *,
        read_source: bool = False,
    ) -> Inspection:
        """Walk the references once, to find holders and the containers that grew since last time.

        Args:
            targets: addresses of the objects whose holders are wanted.
            suspects: names of the classes whose holders are wanted.
            tell_cycles: see ``heap.inspect``.
            read_source: see ``heap.inspect``.
        """
        found = self._inspected(targets, suspects, tell_cycles, read_source=read_source)
        self._paths = found.memory
        return found

    def held(self, targets: Sequence[int]) -> tuple[Held | None, ...]:
        """Return the holders of the objects at these addresses.

        The next ``inspect`` still compares with the look before this call.
        """
        return self._inspected(targets, (), None).held

    def _inspected(
        self,
        targets: Sequence[int],
        suspects: Sequence[str],
        tell_cycles: Callable[[int, int], bool] | None,
        *,
        read_source: bool = False,
    ) -> Inspection:
        self._check_heap_is_walked()
        with self.peaks.paused():
            return heap.inspect(
                self._paths,
                targets,
                self.large_object,
                suspects=suspects,
                tell_cycles=tell_cycles,
                seconds=self.longest_look(),
                survivors=self.survivors,
                read_source=read_source,
            )

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds what the last look at holders saw."""
        return 0 if self._paths is None else self._paths.held_bytes

    def remember(self) -> None:
        """Walk the references once, so that ``inspect`` can find what has grown since."""
        self._check_heap_is_walked()
        with self.peaks.paused():
            self._paths = heap.remember(self.longest_look())

    def collect(self, counted: Census | None = None) -> Collection:
        """Run one full garbage collection; return the objects that only cycles had kept alive.

        ``counted`` is a census that this thread has just taken.
        """
        self._check_heap_is_walked()
        with self.peaks.paused():
            return heap.collect(counted)

    def _read_gauges(self, reading: Measurement) -> dict[str, Gauge]:
        gauges = {}
        for name, (value, capacity) in list(self.gauges.items()):  # a gauge may add gauges
            began = time.perf_counter()
            try:
                self._check_patience(name)
                gauges[name] = Gauge(_gauge_value(value()), capacity)
            except Exception as error:  # A gauge is the user's code; its exception becomes a note.
                pass_on(error)
                reading.unavailable[f"gauge {name}"] = reason_of(error)
            if time.perf_counter() - began > _SLOW_GAUGE:
                self._slow[name] = self._slow.get(name, 0) + 1
        return gauges

    def _check_patience(self, name: str) -> None:
        if self._slow.get(name, 0) >= _SLOW_TIMES:
            raise Unavailable(f"it took more than {_SLOW_GAUGE:g} s twice, and is no longer read")

    def _walk(self) -> HeapCensus | str:
        """Return the census, or the reason why there is none."""
        try:
            return self._census()
        except Exception as error:
            pass_on(error)
            return reason_of(error)

    def _check_heap_is_walked(self) -> None:
        if self.spares_heap is not None:
            raise Unavailable(self.spares_heap)

    def _census(self) -> HeapCensus:
        self._check_heap_is_walked()
        with self.peaks.paused():
            return heap.census(self.watchlist.classes, self.large_object, self.longest_look())


def bytes_in_use(metrics: Mapping[str, int | float]) -> int | None:
    """Return the bytes in use in both allocators; None if either number is unknown."""
    parts = [metrics.get(name) for name in ("heap_in_use", "python_in_use")]
    known = [int(part) for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _gauge_value(value: object) -> float:
    """Return a gauge's value as a float.

    Raises:
        Unavailable: it is no number, or it is infinite or NaN, which JSON cannot hold.
    """
    if isinstance(value, str | bytes):
        raise Unavailable(f"it returned the text {value!r:.60}, not a number")
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        raise Unavailable(f"it returned {number}, which is no finite number")
    return number


def _coverage(accounted: int, metrics: Mapping[str, int | float]) -> float | None:
    """Return the share of the live anonymous memory that the census accounts for.

    Live anonymous memory is the anonymous memory in RAM minus the bytes that the C allocator keeps
    free. The C allocator's bytes in use would be too few, because Python maps the arenas of its
    small objects itself.
    """
    anonymous, held = metrics.get("rss_anonymous"), metrics.get("heap_held")
    if anonymous is None or held is None or anonymous <= held:
        return None
    return min(accounted / int(anonymous - held), 1.0)
