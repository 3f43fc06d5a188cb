"""Containers that have more entries at every look, and buffers that have more bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leakguard.analysis.case import BYTES_FLOOR, Case
from leakguard.analysis.series import judge_series
from leakguard.model import Holder

_LOOKS = 3
_LOOKS_AT_WEAK = 6  # lists of weak references are cleaned now and then
_WEAK = frozenset({"weakref.ReferenceType", "weakref.KeyedRef", "weakref.ProxyType"})
_WHOLE = 0.5  # of a type's instances in a container, for it to be what keeps them
_SAME_RATE = 0.1
NO_ROOT = "(no root)"

# One container through the looks: the generation and what it was then, oldest first.
History = list[tuple[int, Holder]]
Look = tuple[int, tuple[Holder, ...]]


@dataclass(frozen=True, slots=True)
class GrowingContainer:
    """A container whose entries became more from look to look.

    ``retained_rate`` is what its entries keep alive, more each generation; ``capacity`` the most
    entries it can have, None for no bound. ``proven`` is false for one that only holds what grows:
    its own growth was not seen often enough.
    """

    holder: Holder
    generations: tuple[int, ...]
    entries: tuple[int, ...]
    retained_rate: float
    started_at: int | None = None
    proven: bool = True
    capacity: int | None = None

    @property
    def is_filling(self) -> bool:
        """True for a bounded container; one whose entries keep autograd graphs is not excused."""
        return self.capacity is not None and not self.holder.graph_nodes

    @property
    def is_weak(self) -> bool:
        """True for a container of weak references, which hold nothing."""
        return self.holder.element in _WEAK

    @property
    def is_buffer(self) -> bool:
        """True for one object, or the same few, that become larger without having entries."""
        return not self.holder.path.endswith("[*]")

    @property
    def rate(self) -> float:
        """Entries more each generation."""
        return (self.entries[-1] - self.entries[0]) / max(self._rounds, 1)

    @property
    def _rounds(self) -> int:
        return self.generations[-1] - self.generations[0]

    def holds(self, path: str) -> bool:
        """True when ``path`` leads through this container."""
        return path != self.holder.path and path.startswith(self.holder.path)


def growing_containers(case: Case) -> list[GrowingContainer]:
    """Return the containers that grew at every look since they were first seen, largest first.

    A container inside another one that grows too is left to the outer one.
    """
    looks = _looks(case)
    histories = [seen for seen in _histories(looks) if seen[-1][0] == looks[-1][0]]
    found = [_growing(_with_look_before(seen, looks)) for seen in histories]
    growing = sorted(filter(None, found), key=lambda c: (c.is_weak, -c.retained_rate))
    return [c for c in growing if not any(other.holds(c.holder.path) for other in growing)]


def keeper(case: Case, type_name: str, rate: float) -> GrowingContainer | None:
    """Return what holds the instances of a type that grows by ``rate``; None if unknown.

    That is the container that lately gained as many of them, or in which most of them lie.
    """
    looks = _looks(case)
    if not looks:
        return None
    return _gaining(type_name, rate, looks) or _crowded(case, type_name, looks)


def _gaining(type_name: str, rate: float, looks: list[Look]) -> GrowingContainer | None:
    for holder in _unbounded(type_name, looks):
        container = _unproven(holder, looks)
        if holder.streak >= _LOOKS - 1 and abs(container.rate - rate) <= _SAME_RATE * rate:
            return container
    return None


def _crowded(case: Case, type_name: str, looks: list[Look]) -> GrowingContainer | None:
    generation, holders = looks[-1]
    ends = (s for s in case.run.snapshots if s.generation == generation)
    alive = max((s.count(type_name) or 0 for s in ends), default=0)
    for holder in _unbounded(type_name, looks):
        if holder.entries >= _WHOLE * alive > 0:
            return _unproven(_around(holder, holders), looks)
    return None


def _unbounded(type_name: str, looks: list[Look]) -> Iterator[Holder]:
    """Yield the containers of a type in the last look that a root leads to and nothing bounds."""
    for holder in looks[-1][1]:
        is_rooted = not holder.path.startswith(NO_ROOT)
        if holder.element == type_name and holder.capacity is None and is_rooted:
            yield holder


def _around(holder: Holder, holders: tuple[Holder, ...]) -> Holder:
    """Return the outermost container around one that gained entries lately, else the one itself."""
    outer = (
        other
        for other in sorted(holders, key=lambda other: len(other.path))
        if holder.path.startswith(other.path)
        and other.streak >= _LOOKS - 1
        and other.capacity is None
    )
    return next(outer, holder)


def _unproven(holder: Holder, looks: list[Look]) -> GrowingContainer:
    seen = [(g, h) for g, holders in looks for h in holders if h.path == holder.path]
    generations, entries = zip(*((g, h.entries) for g, h in seen), strict=True)
    rate = _slope(generations, [float(h.retained_bytes or 0) for _, h in seen])
    return GrowingContainer(holder, generations, entries, rate, proven=False)


def _looks(case: Case) -> list[Look]:
    """Return the looks at ends of generations, and those that were asked for between two."""
    found: dict[int, tuple[Holder, ...]] = {}
    ended: int | None = None
    for snapshot in case.run.snapshots:
        if snapshot.moment == "generation":
            ended = snapshot.generation
        elif snapshot.generation is not None:
            continue
        if snapshot.holders and ended is not None:
            found.setdefault(ended, snapshot.holders)
    return list(found.items())


def _histories(looks: list[Look]) -> list[History]:
    """Follow each container by its path, or by its entries where its path became another."""
    open_: dict[str, History] = {}
    previous: int | None = None
    for generation, holders in looks:
        for holder in holders:
            if holder.path not in open_:
                moved = _moved_from(holder, open_, previous) if holder.streak > 1 else None
                open_[holder.path] = open_.pop(moved) if moved is not None else []
            open_[holder.path].append((generation, holder))
        previous = generation
    return list(open_.values())


def _moved_from(holder: Holder, known: dict[str, History], previous: int | None) -> str | None:
    same = [
        path
        for path, seen in known.items()
        if seen[-1][0] == previous
        and seen[-1][1].entries == holder.before
        and seen[-1][1].element == holder.element
        and seen[-1][1].streak == holder.streak - 1
    ]
    return same[0] if len(same) == 1 else None


def _with_look_before(seen: History, looks: list[Look]) -> History:
    """Add what the look before said of a container that was worth naming only later."""
    first, holder = seen[0]
    earlier = [generation for generation, _ in looks if generation < first]
    if holder.before is None or not holder.streak or not earlier:
        return seen
    share = holder.before / holder.entries if holder.entries else 0.0
    retained = None if holder.retained_bytes is None else int(share * holder.retained_bytes)
    before = Holder(holder.path, holder.element, holder.before, retained_bytes=retained)
    return [(earlier[-1], before), *seen]


def _growing(seen: History) -> GrowingContainer | None:
    generations = tuple(generation for generation, _ in seen)
    entries = tuple(holder.entries for _, holder in seen)
    holder = seen[-1][1]
    fewest = _LOOKS_AT_WEAK if holder.element in _WEAK else _LOOKS
    if len(seen) < fewest or holder.streak < fewest - 1 or holder.path.startswith(NO_ROOT):
        return None
    retained = tuple(float(holder.retained_bytes or 0) for _, holder in seen)
    grows = (judge_series(entries, integer=True), judge_series(retained, noise_floor=BYTES_FLOOR))
    proof = next((verdict for verdict in grows if verdict.growing == "yes"), None)
    capacity = _capacity(seen)
    if capacity is None and proof is None:
        return None
    started = None if proof is None or proof.started is None else generations[proof.started]
    rate = _slope(generations, retained)
    return GrowingContainer(holder, generations, entries, rate, started, capacity=capacity)


def _capacity(seen: History) -> int | None:
    """Return the bound that all looks agree on; a list that is full shows none any more."""
    bounds = {h.capacity for _, h in seen if h.capacity is not None}
    bound = bounds.pop() if len(bounds) == 1 else None
    agreed = all(h.capacity is not None or h.entries == bound for _, h in seen[-2:])
    return bound if agreed else None


def _slope(generations: tuple[int, ...], values: tuple[float, ...] | list[float]) -> float:
    return (values[-1] - values[0]) / max(generations[-1] - generations[0], 1)
