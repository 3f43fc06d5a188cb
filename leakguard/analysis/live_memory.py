"""Growth of live memory as a whole: what it consists of, and why some of it is harmless."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.holders import (
    holder_by_instances,
    holder_by_size,
    holder_of,
    largest_graph,
)
from leakguard.analysis.knowledge import NATIVE_CACHES, Place, place_of
from leakguard.analysis.proportion import apart
from leakguard.analysis.remedy import remedy
from leakguard.analysis.sources.containers import looks_at_holders
from leakguard.analysis.tolerance import (
    BYTES_FLOOR,
    FEWEST_LOOKS,
    MAJORITY,
    MATERIAL_BYTES,
    NEARLY_ALL,
    SAME_COUNT,
    same,
)
from leakguard.model import Census, Cleared, Holder, Snapshot
from leakguard.model.census import GRAPH_NODE
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_change

# The bytes of a type rise together with live memory if their distance (``proportion.apart``) is at
# most this. The distance is 0 for rises in proportion, and 2 for rises that never happen between
# the same two looks. Chosen halfway. The guard's own tables and modules rise between two looks
# only, so their distance from steadily rising memory is nearly 2, which is too large.
_SAME_COURSE = 1.0


def objects_rate(case: Case) -> float:
    """Return the bytes per generation that counted objects of all types gain together."""

    def read(snapshot: Snapshot) -> float | None:
        return None if snapshot.census is None else snapshot.census.bytes

    series = case.timeline.best_series("objects", read, "bytes")
    return case.judge(series, noise_floor=BYTES_FLOOR).verdict.rate if len(series) > 1 else 0.0


def filling_cache(case: Case, growth: Growth) -> Cleared | None:
    """Clear native memory as filling if all of it fits into the caches of libraries; else None."""
    ends = [s for s in case.timeline.ends.values() if s.census is not None]
    if not ends or growth.judged is None or growth.in_pools:
        return None
    rate = growth.rate or 0.0
    alive = [(cache, ends[-1].count(cache.type) or 0) for cache in NATIVE_CACHES]
    room = sum(count * cache.bytes for cache, count in alive)
    filled = gained(growth)
    if filled > room:
        return None
    name = growth.name
    of = ", ".join(f"{n} {cache.type} ({cache.what}; {cache.source})" for cache, n in alive if n)
    reason = (
        f"{METRICS[name].words} grows by {format_change(rate)} per generation, "
        f"{format_bytes(filled)} so far; all of it fits into the caches of {of}"
    )
    return Cleared(name, "filling", reason, bytes_per_generation=rate)


def with_kind(case: Case, growth: Growth, in_objects: bool) -> Growth:
    """Return growth of live memory with its kind: a graph, instances, larger objects, or native."""
    if not case.counts_objects:
        return replace(growth, kind="memory", in_pools=False)
    graph = _in_a_graph(case, growth)
    if graph is not None:
        return graph
    if not in_objects:
        return growth
    instances = _in_instances(case, growth)
    if instances is not None:
        return instances
    extended = _extended_type(case, growth)
    if extended is None:  # no type grows in proportion to memory
        return growth
    container = holder_of(case, extended, 0.0) or holder_by_size(case, gained(growth), extended)
    holder = None if container is None else container.holder
    inside = None if container is None else container.type
    if inside is not None and "." in inside:
        extended = inside  # a class in the holder is more informative than a buffer in the class
    fix = f"find the {extended} that is extended every generation, and bound it"
    place = None if holder is None else place_of(holder)
    if holder is not None and place is not None:
        extended = _owner_behind(place, holder) or _one_in_each(case, holder) or extended
    return replace(
        growth,
        kind="memory",
        type=extended,
        holder=holder,
        in_pools=False,
        evidence=(growth.evidence[0], Evidence("sizes", "so do the bytes of counted objects")),
        fix=fix if container is None else None,
    )


def _owner_behind(place: Place, holder: Holder) -> str | None:
    """Return the first class of the program on the path from a known place to the growing object.

    An instance of this class is registered in the place. The fix is to remove this instance, not
    the arrays that it has collected.
    """
    path = ""
    for position, hop in enumerate(holder.trace):
        path += hop.label
        if place.is_on(path):
            inside = holder.trace[position + 1 :]
            return next((hop.type for hop in inside if is_users(hop.type)), None)
    return None


def _one_in_each(case: Case, holder: Holder) -> str | None:
    """Return a class of the program with one instance per entry of a known place."""
    looks = case.timeline.counted_since(None)
    alive = {} if not looks else {n: looks[-1][1].count(n) or 0 for n in looks[-1][1].types}
    each = (n for n in alive if is_users(n) and same(alive[n], holder.entries, SAME_COUNT))
    return next(each, None) if holder.entries >= FEWEST_LOOKS else None


def gained(growth: Growth) -> float:
    """Return the bytes that live memory gained since the growth began."""
    if growth.judged is None:
        return 0.0
    looks = growth.judged.series.generations
    return (growth.rate or 0.0) * (looks[-1] - max(growth.since or 0, looks[0]) + 1)


def _in_a_graph(case: Case, growth: Growth) -> Growth | None:
    """Return growth of live memory as that of a backward graph that is never cut; None if not.

    Two looks suffice if most nodes are new and the graph retains most of the memory's gain, because
    memory itself was read in every generation.
    """
    ends = [(g, s) for g, s in case.timeline.ends.items() if s.census is not None]
    if len(ends) < 2:
        return None
    (first, before), (last, after) = ends[0], ends[-1]
    nodes = (after.count(GRAPH_NODE) or 0) - (before.count(GRAPH_NODE) or 0)
    holders = dict(looks_at_holders(case)).get(last, after.holders)
    graphs = [holder for holder in holders if holder.graph_nodes]
    kept = max((holder.retained_bytes or 0 for holder in graphs), default=0)
    rose = gained(growth)
    if not graphs or nodes < MAJORITY * (after.count(GRAPH_NODE) or 0) or kept < MAJORITY * rose:
        return None
    holder = largest_graph(graphs)
    rate = nodes / (last - first)
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
        evidence=(
            growth.evidence[0],
            Evidence(
                "holders",
                f"{_holders_keep(holder, graphs)} a backward graph of {holder.graph_nodes:,} "
                f"nodes: {nodes:+,} nodes of such graphs since generation {first}",
            ),
        ),
        fix=remedy(GRAPH_NODE, holder),
    )


def _holders_keep(holder: Holder, graphs: list[Holder]) -> str:
    """Return the holder of a graph, and other holders of nearly all its nodes, with the verb."""
    least = NEARLY_ALL * (holder.graph_nodes or 0)
    others = [g.path for g in graphs if g is not holder and (g.graph_nodes or 0) >= least]
    return " and ".join([holder.path, *others]) + (" keep" if others else " keeps")


def _in_instances(case: Case, growth: Growth) -> Growth | None:
    """Return growth of live memory as that of a class of the program, with its holder; or None.

    Two looks suffice, as for a graph, because memory was read in every generation.
    """
    looks = _counted(case, growth)
    size = looks[-1][2] - looks[0][2] if looks else 0.0
    kept = holder_by_instances(case, [(at, census) for at, census, _ in looks], size)
    if kept is None:
        return None
    return replace(
        growth,
        kind="instances",
        type=kept.type,
        rate=kept.rate,
        unit="count",
        interval=None,
        bytes_rate=growth.rate,
        holder=kept.holder,
        in_pools=False,
        evidence=(growth.evidence[0], *kept.evidence),
        fix=remedy(kept.type or "", kept.holder),
    )


def _counted(case: Case, growth: Growth) -> list[tuple[int, Census, float]]:
    """Return (generation, counts, memory) of the looks since memory grows, and the look before."""
    sizes = {} if growth.judged is None else growth.judged.series.by_generation
    looks = case.timeline.counted_since(growth.since, among=sizes)
    return [(generation, census, sizes[generation]) for generation, census in looks]


def _extended_type(case: Case, growth: Growth) -> str | None:
    """Return the type with most of the memory's gain, if it rises in proportion to memory."""
    ends = _counted(case, growth)
    if len(ends) < 2:
        return None
    memory = [size for _, _, size in ends]
    least, found = MAJORITY * (memory[-1] - memory[0]), []
    for name in ends[-1][1].types:
        taken = [_bytes(census, name) for _, census, _ in ends]
        if taken[-1] - taken[0] >= least > 0:
            found.append((apart(taken, memory), name))
    off, name = min(found, default=(math.inf, ""))
    return name if off <= _SAME_COURSE else None


def _bytes(census: Census, name: str) -> float:
    entry = census.types.get(name)
    return 0.0 if entry is None else float(entry.bytes or 0)


def levelled_off(judged: Judged) -> Iterable[Cleared]:
    """Clear live memory that rose by much and no longer rises."""
    verdict, series = judged.verdict, judged.series
    rose = max(series.values) - series.values[0]
    if verdict.shape in ("flat", "noise") or verdict.growing != "no" or rose < MATERIAL_BYTES:
        return
    plateau = verdict.plateau if verdict.shape == "filling" else None
    yield Cleared(
        series.name,
        verdict.shape,
        _why_not(judged, rose),
        None if plateau is None else plateau.value,
        None if plateau is None else plateau.round,
    )


def _why_not(judged: Judged, rose: float) -> str:
    verdict, rounds = judged.verdict, len(judged.series)
    name, change = METRICS[judged.series.name].words, format_change(rose)
    if verdict.shape == "filling" and verdict.plateau is not None:
        end, full = format_bytes(verdict.plateau.value), verdict.plateau.round
        so_far = f"{change} in {rounds} generations, less each time"
        if full is None:
            return f"{name} fills up to {end}: {so_far}"
        return f"{name} fills until generation {full}, then {end}: {so_far}"
    words = {
        "warm-up": "rose at the start and has settled",
        "step": "rose in a step and has stayed there since",
        "sawtooth": "rises and comes back down",
        "transient": "rose for a while and came back down",
    }
    return f"{name} {words.get(verdict.shape, 'rose and levelled off')}: {change} at the most"
