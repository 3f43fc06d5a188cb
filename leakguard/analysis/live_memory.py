"""Growth of live memory as a whole: what it consists of, and why some of it is harmless."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.facts.fix import Extended, Remedy
from leakguard.analysis.facts.harmless import FitsCaches, Harmless, LevelledOff
from leakguard.analysis.facts.measured import GraphKept
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.holders import holder_of_larger, holder_of_more, largest_graph
from leakguard.analysis.knowledge import NATIVE_CACHES
from leakguard.analysis.tolerance import (
    BYTES_FLOOR,
    MAJORITY,
    MATERIAL_BYTES,
    NEARLY_ALL,
)
from leakguard.model import Census, Holder, Snapshot
from leakguard.model.census import GRAPH_NODE


def objects_rate(case: Case) -> float:
    """Return the bytes per generation that counted objects of all types gain together."""

    def read(snapshot: Snapshot) -> float | None:
        return None if snapshot.census is None else snapshot.census.bytes

    series = case.timeline.best_series("objects", read, "bytes")
    return case.judge(series, noise_floor=BYTES_FLOOR).verdict.rate if len(series) > 1 else 0.0


def filling_cache(case: Case, growth: Growth) -> Harmless | None:
    """Clear native memory as filling if all of it fits into the caches of libraries; else None.

    The caches are those that were there at the first look: more and more of them are no filling.
    """
    ends = [s for s in case.timeline.ends.values() if s.census is not None]
    if not ends or growth.judged is None or growth.in_pools:
        return None
    rate = growth.rate or 0.0
    alive = [(cache, min(s.count(cache.type) or 0 for s in ends)) for cache in NATIVE_CACHES]
    room = sum(count * cache.bytes for cache, count in alive)
    filled = gained(growth)
    # Of a sawtooth the rate is uncertain: only what is sure may be too much for the caches.
    least = filled if growth.interval is None or not rate else filled * growth.interval[0] / rate
    if least > room:
        return None
    fits = FitsCaches(rate, filled, tuple((n, cache) for cache, n in alive if n))
    return Harmless(growth.name, "filling", fits, bytes_per_generation=rate)


def gained(growth: Growth) -> float:
    """Return the bytes that live memory gained since the growth began."""
    if growth.judged is None:
        return 0.0
    looks = growth.judged.series.generations
    return (growth.rate or 0.0) * (looks[-1] - max(growth.since or 0, looks[0]) + 1)


def in_a_graph(case: Case, growth: Growth) -> Growth | None:
    """Return growth of live memory as that of a backward graph that is never cut; None if not.

    Two looks suffice if most nodes are new and the graph retains most of the memory's gain, because
    memory itself was read in every generation.
    """
    ends = [(g, s) for g, s in case.timeline.ends.items() if s.census is not None]
    if len(ends) < 2:
        return None
    (first, before), (last, after) = ends[0], ends[-1]
    nodes = (after.count(GRAPH_NODE) or 0) - (before.count(GRAPH_NODE) or 0)
    holders = dict(case.held).get(last, after.holders)
    graphs = [holder for holder in holders if holder.graph_nodes]
    kept = max((holder.retained_bytes or 0 for holder in graphs), default=0)
    rose = gained(growth)
    if not graphs or nodes < MAJORITY * (after.count(GRAPH_NODE) or 0) or kept < MAJORITY * rose:
        return None
    holder = largest_graph(graphs)
    rate = nodes / (last - first)
    kept_graph = GraphKept(_that_keep(holder, graphs), holder.graph_nodes or 0, nodes, first)
    return replace(
        growth,
        kind="autograd",
        type=GRAPH_NODE,
        rate=rate,
        unit="count",
        interval=None,
        bytes_rate=growth.rate,
        holder=holder,
        in_pools=False,
        evidence=(growth.evidence[0], Evidence("holders", kept_graph)),
        second=(),
        fix=Remedy(GRAPH_NODE, holder),
    )


def _that_keep(holder: Holder, graphs: list[Holder]) -> tuple[str, ...]:
    """Return the holder of a graph, and other holders of nearly all its nodes."""
    least = NEARLY_ALL * (holder.graph_nodes or 0)
    others = (g.path for g in graphs if g is not holder and (g.graph_nodes or 0) >= least)
    return (holder.path, *others)


def extended(case: Case, growth: Growth, told: AbstractSet[str] | None = None) -> Growth | None:
    """Return growth of live memory as that of the type whose objects become larger; else None.

    If the rest beside types that are ``told`` is asked for, it is of others that are no more than
    before: what became more has its own count.
    """
    looks = case.timeline.counted_since(growth.since)
    if len(looks) < 2:
        return None
    (_, before), *_, (_, after) = looks
    more = {name for name in after.types if (after.count(name) or 0) > (before.count(name) or 0)}
    names = after.types.keys() if told is None else after.types.keys() - told - more
    gains = {name: _bytes(after, name) - _bytes(before, name) for name in names}
    name = max(gains, key=gains.__getitem__, default="")
    if not gains or gains[name] < MAJORITY * gained(growth):
        return None
    holder = holder_of_larger(case, name, gained(growth))
    are_more = name in more
    if are_more and holder is not None:
        holder = holder_of_more(case, holder)
        name = holder.element
    return replace(
        growth,
        kind="memory",
        type=name,
        holder=holder,
        in_pools=False,
        evidence=(growth.evidence[0], Evidence("sizes", "sizes too")),
        second=(),
        fix=Remedy(name, holder) if are_more else Extended(name, holder),
    )


def _bytes(census: Census, name: str) -> float:
    entry = census.types.get(name)
    return 0.0 if entry is None else float(entry.bytes or 0)


def levelled_off(judged: Judged) -> Iterable[Harmless]:
    """Clear live memory that rose by much and no longer rises."""
    verdict, series = judged.verdict, judged.series
    rose = max(series.values) - series.values[0]
    if verdict.shape in ("flat", "noise") or verdict.growing != "no" or rose < MATERIAL_BYTES:
        return
    plateau = verdict.plateau if verdict.shape == "filling" else None
    yield Harmless(
        series.name,
        verdict.shape,
        LevelledOff(rose, len(series)),
        None if plateau is None else plateau.value,
        None if plateau is None else plateau.round,
    )
