"""Makes a snapshot of a look, and gives it to the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from leakguard.live.journal import Journal
from leakguard.live.look import NOTHING_GAINED, Look, Looker
from leakguard.live.meter import CostMeter
from leakguard.live.safety import Safety
from leakguard.live.sinks import Sinks
from leakguard.model import Births, Census, Cost, Expectation, PhaseTotal, Proof, Site, Snapshot
from leakguard.model.snapshot import Moment


@dataclass(slots=True)
class SnapshotDraft:
    """The parts of a snapshot that do not come from the look.

    The draft is created after the look, so that the look does not count its objects.
    """

    label: str
    moment: Moment
    phase: str | None = None
    generation: int | None = None
    entry: Mapping[str, int | float] = field(default_factory=dict)
    peak: Mapping[str, int | float] = field(default_factory=dict)
    phases: Mapping[str, PhaseTotal] = field(default_factory=dict)
    expectations: tuple[Expectation, ...] = ()
    sites: tuple[Site, ...] = ()
    traced: bool = False
    slowdown: float | None = None
    cut: bool = False
    taken: int | None = None
    passed: int | None = None
    births: Births | None = None
    outer: Mapping[str, int] = field(default_factory=dict)
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()
    children: Mapping[str, int] = field(default_factory=dict)

    def snapshot(
        self,
        look: Look,
        serial: int,
        seconds: float,
        cost: Cost,
        notes: Mapping[str, str],
        own_memory: int,
    ) -> Snapshot:
        """Return the snapshot: the facts of this draft and of the look."""
        seen, found = look.seen, look.found
        return Snapshot(
            serial,
            self.label,
            self.moment,
            self.phase,
            self.generation,
            seconds,
            metrics={**seen.metrics, **self.peak, "own_memory": own_memory},
            entry=self.entry,
            phases=self.phases,
            gauges=seen.gauges,
            watched=seen.watched,
            census=_with_large(seen.census, look),
            change=seen.change,
            holders=found.holders if found else (),
            unheld=found.unheld if found else (),
            coverage=seen.coverage,
            expectations=self.expectations,
            collection=look.collection,
            sites=self.sites,
            unavailable={**notes, **seen.unavailable},
            cost=replace(
                cost,
                tier=3 if self.traced else int(look.depth),
                slowdown=self.slowdown,
                cut=self.cut,
            ),
            extra=self.extra,
            proofs=self.proofs,
            taken=self.taken,
            passed=self.passed,
            births=self.births,
            outer=self.outer,
            children=self.children,
        )


@dataclass(slots=True)
class Scribe:
    """Writes snapshots to the journal, each with its serial number, its time and its cost.

    ``elsewhere`` is true if the program is another process: the journal takes no memory of it.
    ``at_boundary`` is called after each snapshot.
    """

    journal: Journal
    meter: CostMeter
    safety: Safety
    sinks: Sinks
    elsewhere: bool = False
    at_boundary: Callable[[], object] = lambda: None
    _told: float = 0.0

    def write_snapshot(self, draft: SnapshotDraft, look: Look, round_: int | None = None) -> None:
        """Write one snapshot; ``round_`` counts the generations from 0."""
        spent = self.meter.spent
        cost = Cost(spent - self._told, total=spent, why=look.why)
        self._told = spent
        snapshot = draft.snapshot(
            look,
            self.journal.next_serial,
            self.meter.elapsed,
            cost,
            self.safety.taken_notes(),
            0 if self.elsewhere else self.journal.held_bytes + look.held,
        )
        self.journal.add(snapshot, round_)
        self.sinks.write(snapshot)
        self.at_boundary()

    def finish(self) -> None:
        """Close the journal, and record the guard's total cost."""
        self.journal.finish(self.meter.spent, self.sinks.finish)

    def close(self) -> None:
        """Close the journal without a report; harmless if already closed."""
        self.journal.close(self.meter.spent)


@dataclass(slots=True)
class TakenLooks:
    """Records looks.

    ``seen`` is true if a look has covered the program's latest state, as deeply as necessary.
    """

    looker: Looker
    scribe: Scribe
    seen: bool = True

    def write_look(self, draft: SnapshotDraft, look: Look, round_: int | None) -> None:
        """Write a snapshot; ``round_`` counts the generations from 0."""
        covers = look.seen.census is not None or look.why == NOTHING_GAINED
        self.seen = covers and not self.looker.inquiry.owing
        self.scribe.write_snapshot(draft, look, round_)


def _with_large(census: Census | None, look: Look) -> Census | None:
    """Add the holders of large objects to the census, if the look found them."""
    if census is None or look.found is None or not look.found.large:
        return census
    return replace(census, large=look.found.large)
