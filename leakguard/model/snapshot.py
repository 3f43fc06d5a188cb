"""One moment of a process: everything that only the live process can provide, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from leakguard.model.births import Birthplace, Births
from leakguard.model.brink import Brink
from leakguard.model.census import Census, TypeCount
from leakguard.model.holder import Holder, Hop, Proof

Moment = Literal["baseline", "phase", "generation", "mark", "end"]

#: The noun of a round of each phase that evaluates a model; see ``Snapshot.outer``.
EVALUATIONS = {"validate": "validation", "evaluate": "evaluation"}
#: The start of the label of a look at the end of the loop, before the loop's function returns.
LOOP_ENDED = "Loop ended"


@dataclass(frozen=True, slots=True)
class Watched:
    """The number of live instances of a watched class, and the number that the user expects.

    ``expected`` is an inclusive range (low, high); None if the user only wants a count.
    """

    count: int
    expected: tuple[int, int] | None = None

    @property
    def as_expected(self) -> bool:
        """True when there is no expectation or the count lies in its range."""
        return self.expected is None or self.expected[0] <= self.count <= self.expected[1]

    @property
    def too_many(self) -> bool:
        """True if the user gave an expected range and the count is above it."""
        return self.expected is not None and self.count > self.expected[1]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number that the user reports; growth towards its capacity is filling, not a leak."""

    value: float
    capacity: float | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """Objects that the program promised would be freed, checked after a garbage collection.

    ``alive`` of ``expected`` objects were still referenced; ``trace`` leads to one of these.
    ``again`` counts those of the ``alive`` objects that an earlier expectation already reported.
    """

    type: str
    why: str
    expected: int
    alive: int
    held_by: str | None = None
    trace: tuple[Hop, ...] = ()
    retained_bytes: int | None = None
    again: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """What one full garbage collection found: cycles that no live reference held.

    If ``left`` is true, there was no collection, because the program has switched its collector off
    and runs threads: a walk found these objects, which no root leads to, and left them alone.

    ``types`` maps qualified type names to how many instances were freed, largest number first.
    ``cycles`` maps some of these types to the path from an instance back to itself, as recorded
    before the collection. ``made`` maps some of them to where their instances were made, according
    to sampled births, and ``born`` tells where all of it was made.
    """

    freed: int
    uncollectable: int = 0
    bytes: int | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    cycles: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)
    made: Mapping[str, tuple[Birthplace, ...]] = field(default_factory=dict)
    born: tuple[Birthplace, ...] = ()
    left: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """A line of code whose allocations of one traced generation were still alive at its end.

    Attributes:
        place: ``package/module.py:12``, the program's own line that made the allocations.
        function: the function that contains the line; None if the source cannot be read.
        bytes: bytes allocated; None if objects were counted instead.
        count: surviving objects; surviving allocations if ``type`` is None.
        stack: frames, innermost first.
        tracer: ``tracemalloc`` or ``memray``.
        type: qualified type of the objects made there.
        held_by: the holder of one of these objects.
    """

    place: str
    function: str | None = None
    bytes: int | None = None
    count: int = 0
    stack: tuple[str, ...] = ()
    tracer: str = "tracemalloc"
    type: str | None = None
    held_by: str | None = None


@dataclass(frozen=True, slots=True)
class PhaseTotal:
    """What one phase added in all its executions in a generation, inner phases included.

    ``change`` maps metric names to the sum of exit minus entry; it is negative if the phase freed
    more than it added. If the phase ran very often, only some of its executions were measured, and
    stand for the others in ``change``.
    """

    times: int
    seconds: float
    change: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """What the guard cost the watched program, and how deep this snapshot looks.

    Attributes:
        seconds: seconds of the guard's work since the previous snapshot, this snapshot included.
        tier: the deepest tier reached.
        slowdown: for a traced generation (tier 3), its time as a multiple of the median of the
            generations before it.
        total: seconds of the guard's work since the run began; None in older files.
        why: what made the guard look here: ``spread``, ``rise``, ``no limit``, ``last
            generation``, ``baseline``, ``end`` or ``asked``, in older files also ``early`` and
            ``within budget``.
            It is ``nothing gained`` if the look was left out because it would find nothing new,
            and None if only the cheap numbers were read.
        cut: True for a traced generation whose trace was stopped early because of its cost.
    """

    seconds: float = 0.0
    tier: int = 0
    slowdown: float | None = None
    total: float | None = None
    why: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The process at the end of a phase or generation, or at a moment the user named.

    Attributes:
        serial: position in the run, from 0.
        label: free text; ``Gen 1: After evaluate_population`` for phases of a generation.
        moment: what made the snapshot.
        phase: name of the phase that ended, outer phases first (``evaluate/rollout``).
        generation: the round of the loop, None outside of it.
        seconds: seconds since the run began; None if a log does not record the time.
        metrics: scalars by metric name (see ``leakguard.model.metric``). A missing name means
            unknown, with the reason in ``unavailable``; it never means 0.
        entry: the same scalars when the phase or generation began.
        phases: on a generation's end, what each of its phases added.
        change: live objects by type at the end minus at the start of this phase, where the heap
            was walked at both ends; types that did not change are left out.
        watched: watched classes by qualified name.
        unavailable: probe name to reason.
        extra: sections of a text log that no field holds, title to lines.
        proofs: what was freed when holders were emptied in a copy of the process.
        taken: how many grouped generations this generation's end stands for; None for one.
        passed: how many generations since the last recorded one were passed over, because they
            were so short that measuring each would have cost too much; None for none.
        births: live memory by where and when it was made; None at most moments, and without a
            record of births.
        unheld: of the births of a look that asks who holds what, those in none of ``holders``.
        outer: how many rounds of each outer level had begun by then, by what a round is there:
            ``epoch``, ``rollout``, ``validation``, ``evaluation``. A generation may be one step of
            an epoch. Empty if generations have no rounds around them, or none are known.
        children: private bytes of each descendant process, by its pid and what it runs; empty if
            there is no descendant, or if none was read.
        brink: set if the snapshot was made because a limit of memory is near.
    """

    serial: int
    label: str
    moment: Moment = "mark"
    phase: str | None = None
    generation: int | None = None
    seconds: float | None = None
    metrics: Mapping[str, int | float] = field(default_factory=dict)
    entry: Mapping[str, int | float] = field(default_factory=dict)
    phases: Mapping[str, PhaseTotal] = field(default_factory=dict)
    gauges: Mapping[str, Gauge] = field(default_factory=dict)
    watched: Mapping[str, Watched] = field(default_factory=dict)
    census: Census | None = None
    change: Mapping[str, TypeCount] | None = None
    holders: tuple[Holder, ...] = ()
    coverage: float | None = None
    expectations: tuple[Expectation, ...] = ()
    collection: Collection | None = None
    sites: tuple[Site, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    cost: Cost = Cost()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()
    taken: int | None = None
    passed: int | None = None
    births: Births | None = None
    unheld: tuple[Birthplace, ...] = ()
    outer: Mapping[str, int] = field(default_factory=dict)
    children: Mapping[str, int] = field(default_factory=dict)
    brink: Brink | None = None

    @property
    def was_traced(self) -> bool:
        """Whether the snapshot's generation was traced, even if the trace showed nothing."""
        return bool(self.sites) or self.cost.slowdown is not None

    @property
    def ends_loop(self) -> bool:
        """True for a look after the loop, taken while the loop's function still had its locals."""
        return self.moment == "end" and self.label.startswith(LOOP_ENDED)

    def count(self, type_name: str) -> int | None:
        """Return the live instances of a type, watched or in the census; None when unknown."""
        watched = self.watched.get(type_name)
        if watched is not None:
            return watched.count
        return None if self.census is None else self.census.count(type_name)

    def size(self, type_name: str) -> int | None:
        """Return the bytes of a type's instances according to the census; None if unknown."""
        entry = None if self.census is None else self.census.types.get(type_name)
        return None if entry is None else entry.bytes

    def gauge(self, name: str) -> float | None:
        """Return the value of the gauge of this name; None if it was not read."""
        gauge = self.gauges.get(name)
        return None if gauge is None else gauge.value
