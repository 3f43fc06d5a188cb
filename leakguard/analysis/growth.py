"""Growth: something that increased, as one source measured it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakguard.analysis.case import Judged
from leakguard.analysis.facts.excluded import Excluded
from leakguard.analysis.facts.fix import Fix
from leakguard.analysis.facts.harmless import Why
from leakguard.analysis.facts.measured import Measured
from leakguard.model import Holder, Snapshot, Verdict, Watched
from leakguard.model.finding import Kind, Pattern
from leakguard.model.holder import ELEMENT, Hop
from leakguard.model.metric import Unit

Source = Literal[
    "type", "container", "gauge", "metric", "cycles", "promise", "peak", "copies", "child",
    "rest",
]  # fmt: skip

#: What made a measurement. Two measurements by one instrument count as one piece of evidence. Each
#: metric of the process is an instrument under its own name. Further instruments are the user's
#: expectation, the garbage collector, the counts and the sizes of objects, and looks at holders.
Instrument = str

_WEAK = frozenset({"weakref.ReferenceType", "weakref.KeyedRef", "weakref.ProxyType"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one instrument measured.

    ``measured`` is None if it adds nothing to the other evidence of that instrument. ``like`` is
    how many things like the one that was measured show the same.
    """

    instrument: Instrument
    measured: Measured | None
    like: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """One thing that increased: what, by how much, since when, and what its source knows.

    Attributes:
        source: what the growth was read from.
        name: the type, the path of the container, the gauge or the metric.
        rate: increase per generation, in ``unit``.
        bytes_rate: bytes per generation of the growing objects or of what they keep alive; None if
            unknown.
        since: the first generation whose end shows the growth.
        judged: the series with its verdict.
        phase: the phase that adds the growth; None if no phase stands out.
        holder: the container as the last look found it.
        bound: the maximum of the value; None if there is none, or none is known.
        proven: False for a container that holds what grows but was not seen growing often enough.
        exact: True if the growth cannot be healthy and was counted one by one, by the operating
            system, the interpreter or a collection.
        worst: the worst verdict that this kind of growth deserves.
        evidence: what the source measured, and by which instrument.
        second: metrics that may confirm the growth; they are judged only if a finding comes of it.
        with_it: types whose objects are made and freed together with these.
        fix: what to change, if the type and the holder do not show it.
        ruled_out: other explanations that the source rejected.
        healthy: why the growth is no leak, if the source itself knows.
        in_pools: True if the bytes are in use in Python's small-object allocator but belong to no
            object with a known holder.
        shown: the snapshot that shows the growth best, if the source knows it.
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
    second: tuple[str, ...] = ()
    confidence: float | None = None
    fix: Fix | None = None
    ruled_out: tuple[Excluded, ...] = ()
    with_it: frozenset[str] = frozenset()
    healthy: Why | None = None
    in_pools: bool = False
    shown: Snapshot | None = None

    @property
    def fills(self) -> bool:
        """True if a bound will stop the growth; always False if entries keep autograd graphs."""
        return self.bound is not None and not self.keeps_graphs

    @property
    def keeps_graphs(self) -> bool:
        """True for a container whose entries keep autograd graphs alive."""
        return self.holder is not None and bool(self.holder.graph_nodes)

    @property
    def is_alone(self) -> bool:
        """True for a container if no other lies at its path."""
        return self.holder is not None and self.holder.containers == 1

    @property
    def is_weak(self) -> bool:
        """True for a container of weak references, which hold nothing."""
        return self.holder is not None and self.holder.element in _WEAK

    @property
    def is_buffer(self) -> bool:
        """True for one object, or a fixed few, that become larger but have no entries."""
        return self.source == "container" and not self.name.endswith("[*]")

    @property
    def is_of_larger_objects(self) -> bool:
        """True for a type whose objects become larger, as one array that is extended."""
        return self.kind == "memory" and self.type is not None

    @property
    def is_born(self) -> bool:
        """True for a container in which every round left as much, according to births."""
        return self.source == "container" and bool(self.evidence)

    @property
    def breaks_expectation(self) -> bool:
        """True if there are more objects than the user expects."""
        return self.watched is not None and self.watched.too_many

    @property
    def kept_rate(self) -> float:
        """Bytes per generation that a container gains, in host memory or on devices."""
        return max(self.bytes_rate or 0.0, self.on_devices(self.rate))

    def on_devices(self, entries: float | None) -> float:
        """Return the bytes on devices that so many new entries of a container keep."""
        if self.holder is None or not self.holder.device_bytes or not self.holder.entries:
            return 0.0
        return self.holder.device_bytes / self.holder.entries * max(entries or 0.0, 0.0)

    def holds(self, inner: Growth) -> bool:
        """Return True for containers inside of the entries of this one, or of its keys.

        One container alone, to which the path of many entries leads, is what they all refer to.
        """
        is_other = inner.name != self.name and not inner.is_alone
        return is_other and lies_in(inner.name, self.name)


def lies_in(path: str, container: str) -> bool:
    """Return whether a path leads into the entries of a container, or into its keys."""
    return path.startswith((container, f"{container.removesuffix(ELEMENT)} → key"))
