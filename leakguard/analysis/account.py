"""Subtracts what one growth explains of another: what must be reported, what is healthy, and why.

This happens only here: a gauge explains the buffer that it reports, a filling container explains
its objects, objects explain their memory, and handles explain the resources that they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leakguard.analysis.afterwards import went_on
from leakguard.analysis.balance import balance_of, too_little, unexplained
from leakguard.analysis.behind import in_front_of, with_memory_behind
from leakguard.analysis.case import Case, Judged, slope
from leakguard.analysis.consequence import joined
from leakguard.analysis.device_memory import shared_out
from leakguard.analysis.entries import as_many, keeps_nothing
from leakguard.analysis.facts.harmless import Harmless, WhileFilling
from leakguard.analysis.growth import Growth
from leakguard.analysis.healthy import (
    ended,
    filling_container,
    filling_gauge,
    held_more,
    negligible,
)
from leakguard.analysis.knowledge import (
    is_handle,
    is_mapping,
)
from leakguard.analysis.live_memory import (
    extended,
    filling_cache,
    in_a_graph,
    levelled_off,
    objects_rate,
)
from leakguard.analysis.objects import object_rows
from leakguard.analysis.pace import adds_up
from leakguard.analysis.row import Row, born_elsewhere, line_of, with_birth
from leakguard.analysis.timeline import gauge_reader
from leakguard.analysis.tolerance import (
    MAJORITY,
    MATERIAL_BYTES,
    NOTABLE_BYTES,
    NOTABLE_ENTRIES,
    RECORD_ENTRY,
    RECORDS,
    SAME_COUNT,
    SAME_RATE,
    notable,
    same,
)
from leakguard.model.balance import Balance
from leakguard.model.finding import Kind
from leakguard.model.series import Series

_RESOURCES = frozenset({"threads", "files", "children"})
_OBJECTS: frozenset[Kind] = frozenset({"instances", "container", "arrays", "tensors"})
_LIVE = frozenset({"live_memory", "heap_in_use", "rss_anonymous", "rss"})


@dataclass(frozen=True, slots=True)
class Account:
    """The defects, the cleared growth with reasons, and how much of the growth both explain."""

    defects: tuple[Row, ...]
    cleared: tuple[Harmless, ...]
    balance: Balance | None = None


def settle(case: Case, growths: Sequence[Growth]) -> Account:
    """Return the account of all growths of a run."""
    return _Settlement(case, growths).settled()


class _Settlement:
    """The account of one run; each step builds on what earlier steps have explained."""

    def __init__(self, case: Case, growths: Sequence[Growth]) -> None:
        self.case = case
        self.growths = growths
        self.defects: list[Row] = []
        self.cleared: list[Harmless] = []
        self.filling = [g for g in self._of("gauge") if g.fills]
        self.full_containers: tuple[Growth, ...] = ()

    def settled(self) -> Account:
        """Go through the kinds of growth, the most conclusive first."""
        self._gauges()
        self._cycles()
        self._objects()
        self.defects = joined(self.defects)
        self._promises()
        self._metrics()
        self._live_memory()
        self._rest()
        self.defects += [Row(g, phase=g.phase) for g in self._of("peak", "copies")]
        self.defects += [Row(g, bytes_rate=g.bytes_rate) for g in self._of("child")]
        self._join_rest()
        told = tuple(self.defects)
        self.defects = [d if d.birth else with_birth(self.case, d, told) for d in told]
        self._drop_negligible()
        self.cleared += held_more(self.case, self.defects, self.cleared)
        return Account(tuple(self.defects), tuple(self.cleared), self._balance())

    def _of(self, *sources: str) -> list[Growth]:
        return [growth for growth in self.growths if growth.source in sources]

    # -- what the user reports, and garbage --------------------------------------------------------

    def _gauges(self) -> None:
        self.cleared += map(filling_gauge, self.filling)
        self.defects += [Row(g) for g in self._of("gauge") if not g.fills]

    def _cycles(self) -> None:
        for growth in self._of("cycles"):
            if growth.healthy is not None:
                self.cleared.append(Harmless(growth.name, growth.pattern, growth.healthy))
            else:
                self.defects.append(Row(growth, phase=growth.phase, bytes_rate=growth.bytes_rate))

    # -- objects -----------------------------------------------------------------------------------

    def _objects(self) -> None:
        """Pair types with the containers that hold them, leaving out what gauges explain."""
        gauges = [_series_of(self.case, gauge) for gauge in self.filling]
        containers = [c for c in self._of("container") if not _is_gauged(c, gauges)]
        # The largest come first, whatever their source: the order of sources decides nothing.
        containers.sort(key=lambda c: (c.is_weak, -(c.bytes_rate or 0.0), c.name))
        garbage = {name for cycle in self._of("cycles") for name in cycle.with_it}
        garbage -= {c.type for c in containers if not c.fills}
        types = [
            growing
            for growing in self._of("type")
            if growing.name not in garbage and not _follows_a_gauge(growing, gauges)
        ]
        objects = object_rows(self.case, types, containers, [c.metric for c in self.cleared])
        self.full_containers = objects.filling
        self.cleared += map(filling_container, objects.filling)
        for defect in (with_birth(self.case, found) for found in objects.rows):
            if went_on(self.case, defect):
                self.defects.append(defect)
            else:
                self.cleared.append(ended(defect))

    def _promises(self) -> None:
        """Add a defect for each broken promise, unless one already names the type and its holder.

        The promise names the path of one object, which may lie inside an entry of the holder.
        """
        for growth in self._of("promise"):
            held_by = "" if growth.holder is None else growth.holder.path
            alike = (d for d in self.defects if d.lead.type == growth.type)
            if not any(held_by.startswith(d.held_by or "") for d in alike):
                self.defects.append(Row(growth))

    # -- numbers of the process --------------------------------------------------------------------

    def _metrics(self) -> None:
        for growth in self._of("metric"):
            if growth.healthy is not None:
                self.cleared.append(Harmless(growth.name, growth.pattern, growth.healthy))
            elif growth.kind == "gpu":
                filling = [container for container in self._of("container") if container.fills]
                self.defects = shared_out(self.case, self.defects, filling, growth)
            elif growth.name not in _LIVE and not self._explains_metric(growth):
                phase = growth.main_phase
                self.defects.append(Row(growth, phase=phase, bytes_rate=growth.bytes_rate))

    def _explains_metric(self, growth: Growth) -> bool:
        """True if a finding already names the objects behind a number."""
        rate = growth.rate or 0.0
        if growth.kind in _RESOURCES:
            return any(
                d.held_by is not None
                and growth.main_phase in (d.phase, None)
                and any(same(g.rate or 0.0, rate, SAME_RATE) for g in (d.lead, *d.beside))
                for d in self.defects
            )
        if growth.name == "rss_shared":
            return self._maps() or self._named_bytes() >= MAJORITY * rate
        if growth.name in ("mapped", "address_space"):
            stacks = any(d.kind in ("threads", "gpu") for d in self.defects)
            # The stacks and arenas of threads are mapped memory. They explain its growth even if
            # the number of threads is undecided and therefore no defect.
            threads = self.case.metric("threads")
            stacks = stacks or (threads is not None and threads.may_grow)
            named = self._named_bytes() >= MAJORITY * rate
            return named or stacks or self._maps() or bool(self.filling)
        return False

    def _maps(self) -> bool:
        return any(is_mapping(d.lead.type) for d in self.defects)

    def _named_bytes(self) -> float:
        """Return the bytes per generation that defects and cleared growth explain so far."""
        found = sum(d.bytes_rate or 0.0 for d in self.defects if d.lead.name not in _LIVE)
        return found + sum(c.bytes_per_generation or 0.0 for c in self.cleared)

    # -- live memory -------------------------------------------------------------------------------

    def _live_memory(self) -> None:
        """Report growth of live memory that nothing explains yet; clear memory that levels off."""
        judged = self.case.memory()
        if judged is None:
            return
        growth = next((g for g in self._of("metric") if g.name in _LIVE), None)
        if growth is None:
            self.cleared += [] if judged.grows else levelled_off(judged)
            return
        if self._explains_memory(growth):
            return
        rate = growth.rate or 0.0
        in_objects = objects_rate(self.case) >= MAJORITY * rate
        gauges = [_series_of(self.case, gauge) for gauge in self.filling]
        if gauges and (in_objects or not self.case.counts_allocators):
            self.cleared.append(self._while_filling(judged))
            return
        made = self._made(growth, in_objects)
        rest = max(rate - self._named_bytes(), 0.0)
        maker = None if made.kind == "autograd" else self._maker(rest)
        if maker is not None:
            self._add_to(maker, rest)
            return
        elsewhere = born_elsewhere(self.case, rest, self.defects) is not None
        front = in_front_of(self.defects, made, made_elsewhere=elsewhere)
        cache = filling_cache(self.case, growth) if made.kind == "native" else None
        if front is not None:
            self.defects[self.defects.index(front)] = with_memory_behind(front, growth, rest)
        elif cache is not None:
            self.cleared.append(cache)
        else:
            self.defects.append(Row(made, phase=growth.main_phase, bytes_rate=rest))

    def _made(self, growth: Growth, in_objects: bool) -> Growth:
        """Return growth of live memory with its kind: a graph, larger objects, or native."""
        if not self.case.counts_objects:
            return replace(growth, kind="memory", in_pools=False)
        larger = extended(self.case, growth) if in_objects else None
        return in_a_graph(self.case, growth) or larger or growth

    def _rest(self) -> None:
        """Report the unexplained growth of live memory as a defect, or clear it as too little.

        A log without counts of objects is left out: it has no sizes that could explain memory.
        """
        balance, judged = self._balance(), self.case.memory()
        if balance is None or judged is None or not judged.grows or not self.case.counts_objects:
            return
        growth = next((g for g in self._of("metric") if g.name in _LIVE), None)
        if growth is None:
            if balance.rest > MAJORITY * balance.growth:
                self.cleared.append(too_little(self.case, judged, balance.rest))
        elif self._matters(growth, balance.rest):
            left = unexplained(self.case, growth, self.defects, balance)
            self.defects += [] if left is None else [left]

    def _join_rest(self) -> None:
        """Add the rest to the defect whose line made it: what a look saw of it may be a part."""
        for rest in [d for d in self.defects if d.lead.source == "rest"]:
            size = rest.bytes_rate or 0.0
            maker = self._maker(size)
            if maker is not None:
                self._add_to(maker, size)
                self.defects.remove(rest)

    def _maker(self, rest: float) -> Row | None:
        """Return the defect whose line made memory that nothing explains; None if none did."""
        return next((d for d in self.defects if rest > 0 and self._has_made(d, rest)), None)

    def _add_to(self, defect: Row, size: float) -> None:
        grown = replace(defect, bytes_rate=(defect.bytes_rate or 0.0) + size)
        self.defects[self.defects.index(defect)] = grown

    def _has_made(self, defect: Row, rest: float) -> bool:
        """Return whether the line of a defect left about as much as the rest that is not told."""
        line = line_of(defect)
        if line is None:
            return False
        told = sum(d.bytes_rate or 0.0 for d in self.defects if line_of(d) == line)
        return MAJORITY * rest <= self.case.births.left_by(line) - told <= rest / MAJORITY

    def _matters(self, growth: Growth, rest: float) -> bool:
        last = None if growth.judged is None else growth.judged.series.generations[-1]
        return notable(rest, growth.since, last, NOTABLE_BYTES)

    def _balance(self) -> Balance | None:
        return balance_of(self.case, self.defects, self.cleared)

    def _explains_memory(self, growth: Growth) -> bool:
        """True if findings explain or own the growth of memory, or if a log has no bytes."""
        named, least = self._named_bytes(), MAJORITY * (growth.rate or 0.0)
        # Objects in a container that only fills are no defect, but their bytes explain memory too.
        if named < least and any(c.until is not None for c in self.cleared):
            named += self._filled_bytes()
        if named >= least:
            return True
        if named > 0 and (growth.rate or 0.0) - named < NOTABLE_BYTES:
            return True  # too little for a defect beside what explains a part of the growth
        phases = {d.phase for d in self.defects if d.phase}
        return not self.case.counts_objects and growth.main_phase in phases

    def _filled_bytes(self) -> float:
        """Return the bytes per generation of all types that gain as fast as a filling container."""
        return sum(
            growing.bytes_rate or 0.0
            for growing in self._of("type")
            if any(as_many(growing, container) for container in self.full_containers)
        )

    def _while_filling(self, judged: Judged) -> Harmless:
        """Clear memory that grows while a buffer fills; other growth shows once it is full."""
        name, rate = judged.series.name, judged.verdict.rate
        filling = WhileFilling(rate, tuple(gauge.name for gauge in self.filling))
        full = max((g.full_at for g in self.filling if g.full_at is not None), default=None)
        if full is None:
            return Harmless(name, "filling", filling)
        plateau = judged.series.values[-1] + rate * max(full - judged.series.generations[-1], 0)
        return Harmless(name, "filling", filling, plateau, full)

    # -- what is too small -------------------------------------------------------------------------

    def _drop_negligible(self) -> None:
        """Clear objects that add a few bytes, unless they may stand for something larger.

        A connection is a small object that owns native memory, and a thread object stands for a
        thread. Small objects, but numbers and texts, are therefore kept if such a resource grows,
        and the largest of them if memory grows unexplained.
        """
        objects = [d for d in self.defects if d.kind in _OBJECTS and d.lead.source != "promise"]
        small = [defect for defect in objects if self._is_small(defect)]
        resources = any(g.kind in _RESOURCES for g in self._of("metric"))
        if resources:
            small = [defect for defect in small if _is_of_leaves(defect)]
        if not small:
            return
        if len(small) == len(objects) and self._memory_is_unexplained():
            small.remove(max(small, key=lambda defect: defect.bytes_rate or 0.0))
        self.defects = [defect for defect in self.defects if defect not in small]
        self.cleared += map(negligible, small)

    def _is_small(self, defect: Row) -> bool:
        lead, rate = defect.lead, defect.bytes_rate
        if rate is None or lead.watched is not None or is_handle(lead.type):
            return False
        holder = (defect.container or lead).holder
        if holder is not None and "chain" in holder.traits:
            return False  # each entry keeps the previous one: a mistake, and no record of the run
        # Of numbers and texts that lie in entries, the entries are what is recorded.
        counted = (defect.container if _is_of_leaves(defect) else None) or lead
        whole = counted.rate
        if counted.judged is not None:  # few looks may leave the rate open; then the slope decides
            series = counted.judged.series
            whole = max(counted.judged.verdict.rate, slope(series.generations, series.values))
        if (whole or 0.0) > RECORDS or (whole and rate > RECORD_ENTRY * whole):
            return False
        rounds = max(self.case.run.generations, default=0) + 1 - (lead.since or 0)
        if whole and rate > NOTABLE_ENTRIES * whole and adds_up(self.case, rate):
            return False
        return rate < RECORDS * RECORD_ENTRY and rate * rounds < MATERIAL_BYTES

    def _memory_is_unexplained(self) -> bool:
        memory = self.case.memory()
        if memory is None or not memory.grows:
            return False
        held = sum(d.bytes_rate or 0.0 for d in self.defects if d.held_by)
        held += sum(c.bytes_per_generation or 0.0 for c in self.cleared)
        rest = memory.verdict.rate - held
        rounds = max(self.case.run.generations, default=0) + 1 - (memory.started_at or 0)
        matters = rest >= RECORDS * RECORD_ENTRY or rest * rounds >= MATERIAL_BYTES
        return matters and rest >= MAJORITY * memory.verdict.rate


# -- gauges ----------------------------------------------------------------------------------------


def _is_of_leaves(defect: Row) -> bool:
    """Return whether a defect is of numbers or texts, which keep no other object alive."""
    return keeps_nothing(defect.lead.type or defect.lead.name)


def _series_of(case: Case, gauge: Growth) -> Series:
    return case.timeline.best_series(gauge.name, gauge_reader(gauge.name))


def _follows_a_gauge(growing: Growth, filling: Sequence[Series]) -> bool:
    """True if a gauge with a capacity rises as fast as the count of an unwatched type."""
    if growing.watched is not None:
        return False
    return any(
        same(slope(g.generations, g.values), growing.rate or 0.0, SAME_COUNT) for g in filling
    )


def _is_gauged(container: Growth, filling: Sequence[Series]) -> bool:
    """True if a gauge had the same value as the container had entries at its last look."""
    if container.judged is None:
        return False
    looks = container.judged.series
    generation, entries = looks.generations[-1], looks.values[-1]
    said = (gauge.by_generation.get(generation, gauge.values[-1]) for gauge in filling)
    return any(same(entries_said, entries, SAME_COUNT) for entries_said in said)
