"""Growth: something that increased, as one source measured it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from leakguard.analysis.case import Judged
from leakguard.analysis.contribution import Contribution
from leakguard.model import Holder, Snapshot, Verdict, Watched
from leakguard.model.finding import Kind, Pattern
from leakguard.model.holder import Hop
from leakguard.model.metric import Unit

Source = Literal[
    "type", "container", "gauge", "metric", "cycles", "promise", "peak", "copies", "child",
    "rest",
]  # fmt: skip

#: What measured something: two sentences of one instrument are one witness. A number of the process
#: is an instrument of its own, under its name; so are the user's word, the collector, the count and
#: the sizes of objects, and what looks found in holders.
Instrument = str

_WEAK = frozenset({"weakref.ReferenceType", "weakref.KeyedRef", "weakref.ProxyType"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one instrument measured, in words."""

    instrument: Instrument
    told: str


@dataclass(frozen=True, slots=True)
class Growth:
    """One thing that increased: what, by how much, since when, and what its source knows.

    Attributes:
        source: what it was read from.
        name: the type, the path of the container, the gauge or the metric.
        rate: increase per generation, in ``unit``.
        bytes_rate: bytes per generation, of what it is or keeps alive; None if unknown.
        since: the first generation whose end shows it.
        judged: the series with its verdict.
        contribution: what each phase adds; empty if the phase is known otherwise.
        phase: the phase, if the source itself knows it.
        holder: the container as the last look found it.
        bound: its maximum; None if there is none, or none is known.
        proven: False for a container that only holds what grows: its own growth was not seen
            often enough.
        exact: what cannot be healthy was counted one by one, by the operating system, the
            interpreter or a collection.
        worst: the worst verdict that this kind of growth deserves.
        evidence: what the source measured, and by which instrument.
        reason: the numbers in one sentence, if they are more than the evidence.
        with_it: types that come and go with it.
        healthy: why it is no leak, if the source itself knows.
        in_pools: the bytes are in Python's small-object allocator, and in no object that is held.
        shown: the snapshot that shows it best, if the source knows it.
    """

    source: Source
    name: str
    kind: Kind
    type: str | None = None
    pattern: Pattern = "growing"
    rate: float | None = None
    unit: Unit = "count"
    bytes_rate: float | None = None
    interval: tuple[float, float] | None = None
    since: int | None = None
    counts: tuple[int, ...] = ()
    judged: Judged | None = None
    contribution: Contribution = field(default_factory=Contribution)
    phase: str | None = None
    holder: Holder | None = None
    path: tuple[Hop, ...] = ()
    bound: float | None = None
    full_at: int | None = None
    proven: bool = True
    watched: Watched | None = None
    exact: bool = False
    worst: Verdict = "leak"
    evidence: tuple[Evidence, ...] = ()
    reason: str | None = None
    confidence: float | None = None
    fix: str | None = None
    ruled_out: tuple[str, ...] = ()
    with_it: frozenset[str] = frozenset()
    healthy: str | None = None
    in_pools: bool = False
    shown: Snapshot | None = None

    @property
    def main_phase(self) -> str | None:
        """The phase that adds it; None if no phase stands out."""
        return self.phase or self.contribution.main_phase()

    @property
    def fills(self) -> bool:
        """True if a bound will stop it; entries that keep autograd graphs are not excused."""
        return self.bound is not None and not self.keeps_graphs

    @property
    def keeps_graphs(self) -> bool:
        """True for a container whose entries keep autograd graphs alive."""
        return self.holder is not None and bool(self.holder.graph_nodes)

    @property
    def is_weak(self) -> bool:
        """True for a container of weak references, which hold nothing."""
        return self.holder is not None and self.holder.element in _WEAK

    @property
    def is_buffer(self) -> bool:
        """True for one object, or the same few, that become larger without having entries."""
        return self.source == "container" and not self.name.endswith("[*]")

    @property
    def is_born(self) -> bool:
        """True for a container of which births show that each round left as much in it."""
        return self.source == "container" and bool(self.evidence)

    @property
    def breaks_expectation(self) -> bool:
        """True if there are more than the user expects."""
        return self.watched is not None and self.watched.too_many

    def holds(self, path: str) -> bool:
        """Return True when ``path`` leads through this container."""
        return path != self.name and path.startswith(self.name)
