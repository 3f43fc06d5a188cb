"""Garbage in reference cycles that piles up until the collector comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from leakguard.analysis.case import Case
from leakguard.analysis.contribution import made_in, type_contribution
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.growing_type import is_users
from leakguard.analysis.limits import MATERIAL_BYTES
from leakguard.analysis.rules.collector import switched_off
from leakguard.analysis.series import judge_series
from leakguard.analysis.timeline import count_reader
from leakguard.model import Cleared, Finding, Snapshot
from leakguard.model.holder import Hop
from leakguard.model.series import Series
from leakguard.model.units import format_bytes

_TIMELY = 2  # times that the collector came by itself: it is in time
_UNTIL_THEN = "until then gc.collect() at the end of the phase bounds it"
_OFF = (
    "the program switched automatic collection off (gc.disable()), so nothing ever frees them: "
    "switch it on, or call gc.collect() at the end of the phase"
)


def cycles(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report the class that leads what collections freed, when they freed much of it."""
    collected = [s for s in case.run.snapshots if s.collection is not None]
    leads = [lead for lead in map(_lead, collected) if lead is not None]
    if not leads:
        return []
    name = max(leads, key=leads.count)
    watched = any(name in s.watched for s in collected)
    if not is_users(name) and not watched:
        # Frameworks leave cycles of dicts and closures behind, and the collector is there for them.
        return [_left_to_the_collector(collected)]
    freeing = [s for s, lead in zip(collected, map(_lead, collected), strict=True) if lead == name]
    if not watched and _own_drops(case, name, freeing) >= _TIMELY:
        return [_left_to_the_collector(collected)]
    return [_finding(case, name, freeing)]


def _lead(snapshot: Snapshot) -> str | None:
    """Return the class that a collection freed most of, the program's own classes first.

    A collection that freed little frees what every program leaves behind.
    """
    collection = snapshot.collection
    if collection is None or (collection.bytes or 0) < MATERIAL_BYTES or not collection.types:
        return None
    watched = [name for name in collection.types if name in snapshot.watched]
    own = [name for name in collection.types if is_users(name)]
    return next(iter((*watched, *own, *collection.types)))


def _own_drops(case: Case, name: str, freeing: list[Snapshot]) -> int:
    """Return how often the count fell without a collection of the guard's: the collector's work."""
    ours = {snapshot.generation for snapshot in freeing}
    series = case.timeline.best_series(name, count_reader(name))
    changes = zip(series.generations, pairwise(series.values), strict=False)
    return sum(later < earlier and number not in ours for number, (earlier, later) in changes)


def _left_to_the_collector(collected: list[Snapshot]) -> Cleared:
    size = sum(s.collection.bytes or 0 for s in collected if s.collection is not None)
    reason = f"objects in cycles waited for the collector, which freed {format_bytes(size)}"
    return Cleared("garbage in cycles", "sawtooth", reason)


def _finding(case: Case, name: str, freeing: list[Snapshot]) -> Finding:
    collections = [s.collection for s in freeing if s.collection is not None]
    freed = sum(collection.types.get(name, 0) for collection in collections)
    size = sum(collection.bytes or 0 for collection in collections)
    whole = case.timeline.best_series(name, count_reader(name))
    before = _until(whole, freeing[0])
    if _own_drops(case, name, freeing):
        phase, rate = made_in(case.run, name, count_reader(name))
    else:
        contribution = type_contribution(case.run, name, count_reader(name))
        phase, rate = contribution.main_phase(), _rate(before)
    piled_up = judge_series(before.values, integer=True).growing == "yes"
    confirmed = piled_up or len(freeing) > 1
    shown = case.timeline.at(phase).get(freeing[0].generation or 0, freeing[0])
    way = next((way for c in collections if (way := c.cycles.get(name))), ())
    return Finding(
        fingerprint=fingerprint("cycles", name),
        kind="cycles",
        verdict="leak" if confirmed else "suspect",
        pattern="sawtooth",
        type=name,
        phase=phase,
        label=shown.label,
        serial=shown.serial,
        started_at=_started_at(whole),
        counts=tuple(map(int, before.values)),
        count_per_generation=rate,
        bytes_per_generation=None if rate is None or not freed else size / freed * rate,
        confidence=0.95 if confirmed else 0.7,
        reason=f"{len(freeing)} collection{'s' if len(freeing) > 1 else ''} freed {freed} "
        f"{name} and {format_bytes(size)} that no live reference held"
        + ("; until then they became more every generation" if piled_up else ""),
        fix=f"break the reference cycle{_cut(way)} (a weak reference, or clear it when done); "
        + (_OFF if switched_off(case) else _UNTIL_THEN),
        path=tuple(hop.line for hop in way),
        ruled_out=("no container holds them: a collection freed them",),
    )


def _cut(way: tuple[Hop, ...]) -> str:
    """Name the reference that closes the cycle, where the cycle is known."""
    if not way:
        return ""
    before = way[-2].type
    return f" that comes back to {way[-1].type} from {before} through `{way[-1].label}`"


def _rate(before: Series) -> float | None:
    rounds = len(before) - 1
    return (before.values[-1] - before.values[0]) / rounds if rounds > 0 else None


def _started_at(whole: Series) -> int | None:
    """Return the first generation at whose end there are more than before it."""
    previous = whole.baseline or 0.0
    for generation, value in zip(whole.generations, whole.values, strict=True):
        if value > previous:
            return generation
        previous = value
    return None


def _until(whole: Series, collected: Snapshot) -> Series:
    """Return the counts from the last time they fell up to the first collection.

    The collection itself came after the counting of its generation.
    """
    last = collected.generation or 0
    kept: list[tuple[int, float]] = []
    for generation, value in zip(whole.generations, whole.values, strict=True):
        if generation > last:
            break
        if kept and value < kept[-1][1]:
            kept.clear()
        kept.append((generation, value))
    return replace(
        whole, generations=tuple(g for g, _ in kept), values=tuple(value for _, value in kept)
    )
