"""Reads series out of a run: the same number at the same point of every generation."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from leakguard.analysis.own_work import without_own_work
from leakguard.analysis.tolerance import BYTES_FLOOR, MAJORITY
from leakguard.model import Census, Run, Snapshot
from leakguard.model.metric import METRICS, Unit
from leakguard.model.series import Series

Reader = Callable[[Snapshot], "float | None"]

# Metrics of live memory, best first: memory in use in all allocators together, memory in use in the
# C allocator, and, if no allocator reports it, pages in RAM.
LIVE_MEMORY = ("live_memory", "heap_in_use", "rss_anonymous", "rss")
# The number that a GPU's driver reports. It stands for live memory in a log without other metrics.
GPU_MEMORY = "gpu_used"


def metric_reader(name: str) -> Reader:
    """Return a function that reads a metric from a snapshot."""
    return lambda snapshot: METRICS[name].read(snapshot.metrics)


def count_reader(type_name: str) -> Reader:
    """Return a function that reads the live count of a type."""
    return lambda snapshot: snapshot.count(type_name)


def bytes_reader(type_name: str) -> Reader:
    """Return a function that reads the bytes of a type."""
    return lambda snapshot: snapshot.size(type_name)


def gauge_reader(name: str) -> Reader:
    """Return a function that reads a gauge."""
    return lambda snapshot: snapshot.gauge(name)


class Timeline:
    """The snapshots of a run by generation and by station.

    A station is a point that every generation passes: the end of a phase, or the generation's own
    end (None).
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.baseline = run.baseline
        #: The first generation after the baseline; None if there is none.
        self.first = _first_after(self.baseline, run)
        #: True if the program had released the growing objects before the look at the end of the
        #: run, so that this look could not find their holder.
        self.let_go = False
        self._recorded: set[str] = set()
        for snapshot in run.snapshots:
            self._recorded.update(snapshot.metrics)
        self._stations: dict[str | None, dict[int, Snapshot]] = {}
        for snapshot in run.snapshots:
            if snapshot.generation is not None and snapshot.moment in ("phase", "generation"):
                station = self._stations.setdefault(snapshot.phase, {})
                station[snapshot.generation] = snapshot
        self._metrics: dict[str, Series] = {}
        self._use_last_look()
        self._metrics.clear()  # the last generation may have another look now

    @property
    def stations(self) -> tuple[str | None, ...]:
        """The stations in the order of first appearance."""
        return tuple(self._stations)

    @property
    def ends(self) -> dict[int, Snapshot]:
        """The end of each generation, by generation."""
        return self.at(None)

    def at(self, station: str | None) -> dict[int, Snapshot]:
        """Return the snapshot of each generation at one station."""
        return self._stations.get(station, {})

    def series(self, name: str, read: Reader, station: str | None, unit: Unit = "count") -> Series:
        """Return the values of ``read`` at one station, without generations that have none."""
        points = [(g, read(snapshot)) for g, snapshot in sorted(self.at(station).items())]
        known = [(generation, value) for generation, value in points if value is not None]
        return Series(
            name,
            unit,
            tuple(generation for generation, _ in known),
            tuple(float(value) for _, value in known),
            None if self.baseline is None else read(self.baseline),
            station,
        )

    def counted_since(
        self, since: int | None, among: Container[int] | None = None
    ) -> list[tuple[int, Census]]:
        """Return the looks from generation ``since`` on, preceded by the last look before it.

        Only looks in the generations ``among`` are considered; None means all.
        """
        looks = [(g, end.census) for g, end in self.ends.items() if end.census is not None]
        looks = [look for look in looks if among is None or look[0] in among]
        before = [look for look in looks if look[0] < (since or 0)][-1:]
        return before + [look for look in looks if look[0] >= (since or 0)]

    def best_series(self, name: str, read: Reader, unit: Unit = "count") -> Series:
        """Return the series at the station with the most values; the latest station wins ties.

        The generation's own end is the latest station. Phases can have more values, for example in
        a run that was killed within a generation.
        """
        candidates = [self.series(name, read, station, unit) for station in self._stations]
        best = max(map(len, candidates), default=0)
        longest = [series for series in candidates if len(series) == best]
        ends = [series for series in longest if series.phase is None]
        if ends or longest:
            return (ends or longest)[-1]
        return Series(name, unit, (), ())

    def metric(self, name: str) -> Series:
        """Return a metric's best series in the run, without the guard's own memory."""
        if name not in self._metrics:
            self._metrics[name] = self._metric(name)
        return self._metrics[name]

    def _metric(self, name: str) -> Series:
        if not METRICS[name].needs <= self._recorded:
            return Series(name, METRICS[name].unit, (), ())
        series = self.best_series(name, metric_reader(name), METRICS[name].unit)
        if series.phase is not None or not series.values:
            return series
        if self.baseline is not None and self.baseline.generation is not None:
            # If the first generation is itself the baseline, compare with the beginning of that
            # generation.
            before = METRICS[name].read(self.ends[series.generations[0]].entry)
            series = replace(series, baseline=before)
        is_memory = series.unit == "bytes" or name == "python_blocks"
        return without_own_work(series, self.ends) if is_memory else series

    def know(self, series: Series) -> None:
        """Use this series of a metric from now on, whatever the snapshots say."""
        self._metrics[series.name] = series

    def changing_types(self) -> tuple[str, ...]:
        """Return the types whose first and last count differ at some station.

        All watched types come first, even if their count has not changed.
        """
        names: dict[str, None] = {}
        for snapshots in self._stations.values():
            for snapshot in snapshots.values():
                names.update(dict.fromkeys(snapshot.watched))
        for snapshots in self._stations.values():
            counted = [s.census for s in snapshots.values() if s.census is not None]
            if counted:
                names.update(dict.fromkeys(_changed(counted[0], counted[-1])))
        return tuple(names)

    def _use_last_look(self) -> None:
        """Use a look at the end of the run as the last generation's, if that generation had none.

        This is done only if the program still holds what it held at the end of that generation.
        """
        ends = self.ends
        looks = [s for s in self.run.snapshots if s.moment == "end" and s.census is not None]
        if not ends or not looks:
            return
        last = max(ends)
        end, look = ends[last], looks[-1]
        # A look that is older than the last generation belongs to an earlier loop.
        if end.census is not None or look.serial < end.serial:
            return
        self.let_go = not self._still_there(end, look)
        if not self.let_go:
            counted = replace(
                end,
                census=look.census,
                watched=look.watched or end.watched,
                holders=look.holders or end.holders,
                coverage=look.coverage,
            )
            # The last generations of a long run may not be recorded. The look then stands for a
            # later generation, so that their growth is counted too.
            at = look.generation or last + (look.passed or 0)
            if at > last + 1:
                ends[at] = replace(counted, generation=at, metrics={}, entry={}, phases={})
            else:
                ends[last] = counted

    def _still_there(self, end: Snapshot, look: Snapshot) -> bool:
        """True if most of the loop's gain in live memory is still in use after the loop.

        If less is in use, the program has already released its objects. The gain does not include
        the guard's own memory, or memory from before the end of the first generation.
        """
        name = next((n for n in LIVE_MEMORY if metric_reader(n)(end) is not None), None)
        if name is None:
            return True
        values, read = self.metric(name).values, metric_reader(name)
        grown, now = read(end), read(look)
        gained = values[-1] - values[0]
        if grown is None or now is None or gained < BYTES_FLOOR:
            return True
        return grown - now <= (1 - MAJORITY) * gained


def _first_after(baseline: Snapshot | None, run: Run) -> int | None:
    if baseline is None or baseline.generation is None:
        return min(run.generations, default=None)
    return baseline.generation + (baseline.moment != "phase")


def _changed(first: Census, last: Census) -> list[str]:
    return [name for name, entry in last.types.items() if first.count(name) != entry.count]
