"""One look at the process, as deep as is due: at a generation's end or at a named moment."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from leakguard.alarm import pass_on
from leakguard.capture import births
from leakguard.capture.heap import Held, Inspection
from leakguard.capture.heap.collector import may_collect
from leakguard.capture.packed import PackedCounts, PackedMeasurement
from leakguard.capture.recorder import Observation, Recorder
from leakguard.live import policy
from leakguard.live.calm import Calm
from leakguard.live.cycle_watch import CycleWatch
from leakguard.live.gains import LEFT_BEHIND
from leakguard.live.inquiry import Inquiry
from leakguard.live.journal import Journal
from leakguard.live.policy import LAST, Depth, LoopSoFar
from leakguard.live.purse import Purse
from leakguard.live.safety import Safety
from leakguard.model import Census, Collection

#: The reason for a look that takes no census: nothing was gained since the last one.
NOTHING_GAINED = "nothing gained"
_LATER = "something grows; a later look finds who holds it, when max_overhead allows one"


@dataclass(frozen=True, slots=True)
class Look:
    """What one look saw, at the depth that it reached.

    ``why`` is the reason for the look. ``held`` is the memory in bytes that the guard kept of
    earlier looks when the numbers were read.
    """

    seen: Observation
    depth: Depth = Depth.NUMBERS
    found: Inspection | None = None
    collection: Collection | None = None
    why: str | None = None
    held: int = 0


@dataclass(slots=True)
class Looker:
    """Looks at the process as ``policy`` plans it, and tells the ``inquiry`` what it saw.

    ``left`` returns how many bytes each round has left behind as much of, by the birth record; None
    if births are not recorded.
    ``journal`` has the first census; without it, the last look always searches for holders.
    ``calm`` tells whether a census would find anything new; without it, each look that is due
    takes one.
    """

    recorder: Recorder
    purse: Purse
    safety: Safety
    inquiry: Inquiry
    cycles: CycleWatch | None
    left: Callable[[], float | None] = lambda: None
    journal: Journal | None = None
    calm: Calm | None = None
    loop: LoopSoFar = field(default_factory=LoopSoFar)
    _collection: Collection | None = None

    def glance(self, reading: PackedMeasurement) -> Look:
        """Return the cheap numbers of a reading, with the gauges."""
        held = self.recorder.held_bytes
        return Look(self.recorder.observe(reading, deep=False), held=held)

    def census(
        self, reading: PackedMeasurement, before: PackedCounts | None = None, why: str | None = None
    ) -> Look:
        """Take a census."""
        held = self.recorder.held_bytes
        with self.purse.charged(Depth.CENSUS):
            seen = self.recorder.observe(reading, deep=True, before=before)
        return Look(seen, Depth.CENSUS, why=why, held=held)

    def start(self, reading: PackedMeasurement) -> Look:
        """Take a census before the loop, if it is cheap."""
        if not self.purse.costs_little(Depth.CENSUS):
            return self.glance(reading)
        with self.purse.charged(Depth.CENSUS, in_loop=False):
            return Look(self.recorder.observe(reading, deep=True), Depth.CENSUS, why="start")

    def baseline(self, reading: PackedMeasurement) -> Look:
        """Take the census from which growth is measured."""
        look = self.census(reading, why="baseline")
        if look.seen.census is not None:
            self.inquiry.begin_counting(look.seen.census, self._notes_held)
        return look

    def counts(self) -> PackedCounts:
        """Return the live objects by type, with which a later ``census`` compares."""
        with self.purse.charged(Depth.CENSUS):
            return self.recorder.counts()

    def holders(self, reading: PackedMeasurement, why: str) -> Look:
        """Take a census and find all holders, whatever it costs."""
        look = self.census(reading, why=why)
        return replace(look, depth=Depth.HOLDERS, found=self._ask(()))

    def reason(self, reading: PackedMeasurement, index: int, *, last: bool = False) -> str | None:
        """Note the numbers at a generation's end; return why a look is due there, if one is."""
        metrics = reading.unpack().metrics
        self.loop.index = index
        self.purse.settle(metrics.get("python_blocks"))
        self.inquiry.note_numbers(index, self._with_own(metrics))
        return policy.reason_to_look(self.inquiry, self.purse, self.loop, last=last)

    def generation(
        self, reading: PackedMeasurement, index: int, why: str | None, targets: Sequence[int]
    ) -> Look:
        """Look at a generation's end: a census if there is a reason, holders if they are needed.

        ``targets`` are addresses of objects whose holders are wanted.
        """
        inquiry, grew = self.inquiry, self.inquiry.grows
        look = self._look_if_due(reading, index, why, wanted=bool(targets))
        asks = bool(targets)
        if look.depth:
            inquiry.note(look.seen, self._notes_held, index)
            asks = asks or self._asks_for_holders(look, index, grew=grew)
            inquiry.owing = inquiry.grows and not asks
            inquiry.looked(index)
        if asks:
            look = self._with_holders(look, targets, inquiry.suspects, last=why == LAST)
        return self._with_collection(look)

    def _look_if_due(
        self, reading: PackedMeasurement, index: int, why: str | None, *, wanted: bool
    ) -> Look:
        """Take a census if there is a reason, and it is ``wanted`` or may find something new."""
        if why is None:
            return self.glance(reading)
        if not wanted and self._is_calm(reading, index):
            self.inquiry.passed_over(index)
            return replace(self.glance(reading), why=NOTHING_GAINED)
        look = self.census(reading, why=why)
        if look.seen.census is not None and self.calm is not None:
            self.calm.census_taken()
        return look

    def _is_calm(self, reading: PackedMeasurement, index: int) -> bool:
        """Return whether a census would find nothing new, so that none is taken.

        Where something grew or stayed at the last look, or the user watches counts, one is taken.
        """
        calm, inquiry, journal = self.calm, self.inquiry, self.journal
        may_count = self.recorder.may_look and not self.recorder.watchlist.classes
        if calm is None or journal is None or not may_count or inquiry.grows or inquiry.owing:
            return False
        with self.purse.charged(Depth.NUMBERS):
            metrics = self._with_own(reading.unpack().metrics)
            lasts = calm.lasts(metrics, self._looks_held + calm.held_bytes, index)
        return lasts and policy.may_pass_over(self.purse, index)

    def settle(self) -> None:
        """Note what the process is like before a generation begins, after a census was written."""
        if self.calm is not None and self.calm.unsettled and self.journal is not None:
            metrics = self.recorder.read_all().unpack().metrics
            self.calm.settle(metrics, self._looks_held + self.calm.held_bytes)

    def _with_own(self, metrics: Mapping[str, int | float]) -> Mapping[str, int | float]:
        """Return the numbers with the memory in bytes that the guard's notes and births take."""
        return {**metrics, "own_memory": self._looks_held, "own_births": births.held_bytes()}

    @property
    def _looks_held(self) -> int:
        """The memory in bytes that holds what is known of earlier looks, but for ``calm``."""
        return self._notes_held + self.recorder.held_bytes

    @property
    def _notes_held(self) -> int:
        """The memory in bytes that holds the run so far, and the counts of the latest look."""
        return self.inquiry.held_bytes + (0 if self.journal is None else self.journal.held_bytes)

    def _with_collection(self, look: Look) -> Look:
        collection, self._collection = self._collection, None
        return replace(look, collection=collection)

    def end(self, reading: PackedMeasurement, generations: int) -> Look:
        """Look at the end of the run, ``generations`` long: no other look comes after this one.

        It searches for holders unless the program has gained nothing since the first look, or too
        little for what that costs. If the last look saw growth and put off that search, it is due
        now, although nothing has grown since.
        """
        inquiry = self.inquiry
        suspects, grew = inquiry.suspects, inquiry.grows
        look = self.census(reading, why="end")
        inquiry.note(look.seen, self._notes_held)
        if grew or inquiry.owing or self._is_worth_asking(look.seen, generations):
            look = self._with_holders(look, (), inquiry.suspects or suspects, last=True)
        inquiry.owing = False
        return self._with_collection(look)

    def asks_for_promised(self, why: str | None) -> bool:
        """Return whether to search now for the holders of promised objects that are still alive."""
        return why == LAST or self.affords_holders

    @property
    def affords_holders(self) -> bool:
        """Whether the budget allows a look at holders."""
        return self.purse.allows(Depth.HOLDERS, self.inquiry, self.loop.ahead)

    def looks_into_phases(self, index: int, phases: int, *, last: bool) -> bool:
        """Return whether each phase of the next generation gets a census at its start and its end.

        Never in a traced generation: a heap walk allocates for each array, and a traced allocation
        costs many times as much.
        """
        return self.recorder.may_look and policy.looks_into_phases(
            self.inquiry, self.purse, self.loop, index, phases, last=last
        )

    def must_measure(self, index: int) -> bool:
        """Return whether a generation is measured whatever it costs; it would have this index."""
        return policy.must_measure(self.purse, self.loop, index)

    def program_has_let_go(self) -> bool:
        """Return whether most of the program's gain was freed since the last generation."""
        return self.inquiry.has_let_go(self._with_own(self.recorder.read_all().unpack().metrics))

    def remember(self) -> None:
        """Walk the references once, so that later looks can find what has grown since."""
        if self.purse.costs_little(Depth.HOLDERS):
            try:
                with self.purse.charged(Depth.HOLDERS, in_loop=False):
                    self.recorder.remember()
            except Exception as error:
                self._note_no_holders(error)

    def holders_of(self, targets: Sequence[int]) -> tuple[Held | None, ...]:
        """Return the holders of the objects at these addresses; empty if that fails."""
        if not targets:
            return ()
        try:
            with self.purse.charged(Depth.HOLDERS):
                return self.recorder.held(targets)
        except Exception as error:
            self._note_no_holders(error)
            return ()

    def _asks_for_holders(self, look: Look, index: int, *, grew: bool) -> bool:
        """Return whether this look searches for holders; what stays but is no object has none."""
        if look.why == LAST:
            gained = self._is_worth_asking(look.seen, index + 1)
        else:
            gained = bool(self.left()) and self._has_gained(look.seen, index + 1)
        asks = policy.asks_for_holders(
            self.inquiry, self.purse, self.loop, look.why, grew=grew, gained=gained
        )
        if not asks and self.inquiry.grows:
            self.safety.note("holders", _LATER)
        return asks

    def _has_gained(self, seen: Observation, generations: int) -> bool:
        """Return whether the program has more objects or more memory than at the first look."""
        return self.inquiry.has_gained(*self._course_of(seen, generations))

    def _is_worth_asking(self, seen: Observation, generations: int) -> bool:
        """Return whether the last look asks who holds what was gained, if something was.

        Where that is dear, the birth record or the counts must show that something stays.
        """
        left, inquiry = self.left(), self.inquiry
        if not self._has_gained(seen, generations):
            return False
        if left is None or inquiry.grows or self._affords_last_search:
            return True
        return left > LEFT_BEHIND or inquiry.has_gained_much(*self._course_of(seen, generations))

    @property
    def _affords_last_search(self) -> bool:
        """Whether the budget allows a look at holders after which no other look comes."""
        purse = self.purse
        return purse.spares_nothing or purse.allows(Depth.HOLDERS, self.inquiry, 0)

    def _course_of(
        self, seen: Observation, generations: int
    ) -> tuple[Census | None, Census | None, int, int]:
        first = None if self.journal is None else self.journal.first_census
        return first, seen.census, self._notes_held, generations + self.loop.passed

    def _with_holders(
        self, look: Look, targets: Sequence[int], suspects: Sequence[str], *, last: bool
    ) -> Look:
        watch, too_many = self.cycles, look.seen.too_many
        tell = functools.partial(watch.after, too_many, last=last) if watch else None
        found = self._ask(targets, suspects, tell, last=last)
        if found is not None and watch is not None:
            watch.note(too_many, found.garbage, found.garbage_bytes, last=last)
            self._collect_if_called_for(found, watch, look.seen.census, last=last)
        return replace(look, depth=Depth.HOLDERS, found=found)

    def _collect_if_called_for(
        self, found: Inspection, watch: CycleWatch, counted: Census | None, *, last: bool
    ) -> None:
        ways = found.cycles
        # While the loop goes on, cycles of libraries are left to the program's own collector.
        if ways is None or not (ways or last) or not watch.calls_for_collection(ways.keys()):
            return
        if may_collect():
            self._collect_cycles(found, watch, counted)
        else:
            self._collection = Collection(
                found.garbage,
                bytes=found.garbage_bytes,
                types=found.garbage_types,
                cycles=ways,
                made=found.made_garbage,
                born=found.born_garbage,
                left=True,
            )

    def _ask(
        self,
        targets: Sequence[int],
        suspects: Sequence[str] = (),
        tell_cycles: Callable[[int, int], bool] | None = None,
        *,
        last: bool = False,
    ) -> Inspection | None:
        try:
            with self.purse.charged(Depth.HOLDERS):
                return self.recorder.inspect(targets, suspects, tell_cycles, read_source=last)
        except Exception as error:
            self._note_no_holders(error)
            return None

    def _collect_cycles(self, found: Inspection, watch: CycleWatch, counted: Census | None) -> None:
        """Free the cycles; keep the chains and the lines of the classes that were freed.

        ``counted`` is this look's census.
        """
        try:
            with self.purse.charged(Depth.NUMBERS):
                freed = self.recorder.collect(counted)
        except Exception as error:  # a look is worth having without its collection
            pass_on(error)
            self.safety.note("census", error)
            return
        ways, made = found.cycles or {}, found.made_garbage
        told = {name: way for name, way in ways.items() if name in freed.types}
        lines = {name: places for name, places in made.items() if name in freed.types}
        self._collection = replace(freed, cycles=told, made=lines, born=found.born_garbage)
        self.inquiry.collected()
        watch.collected()

    def _note_no_holders(self, error: Exception) -> None:
        """Note that a look at holders failed."""
        pass_on(error)
        self.safety.note("holders", error)
