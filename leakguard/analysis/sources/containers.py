"""Containers that have more entries at every look, and buffers that have more bytes each time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median_low

from leakguard.analysis.birthplace import Birth, Trail
from leakguard.analysis.case import Case, slope
from leakguard.analysis.facts.fix import Extended
from leakguard.analysis.facts.measured import GrewInOnePiece, KeptOfGenerations, KeptOfRounds
from leakguard.analysis.growth import Evidence, Growth, lies_in
from leakguard.analysis.held import Look
from leakguard.analysis.tolerance import (
    BEYOND_CHANCE,
    BYTES_FLOOR,
    FEWEST_LOOKS,
    MAJORITY,
    OWN_SHARE,
    PLURALITY,
    REPEATED,
)
from leakguard.model import Holder
from leakguard.model.holder import ELEMENT
from leakguard.model.series import Series

NO_ROOT = "(no root)"
# The beginning of the names of modules in which the guard keeps its own records.
GUARDS_OWN = "leakguard."

# One container over the looks: (generation, state at that look), oldest first.
History = list[tuple[int, Holder]]


def containers(case: Case) -> list[Growth]:
    """Return the containers that grew at every look since they were first seen, largest first.

    A container inside another growing container is left out.
    """
    looks = case.held
    histories = [seen for seen in _histories(looks) if seen[-1][0] == looks[-1][0]]
    found = [_growing(case, _with_look_before(seen, looks)) for seen in histories]
    growing = sorted(filter(None, found), key=lambda c: (c.is_weak, -(c.bytes_rate or 0.0)))
    return [c for c in growing if not any(other.holds(c) for other in growing)]


def _histories(looks: list[Look]) -> list[History]:
    """Follow each container by its path."""
    open_: dict[str, History] = {}
    for generation, holders in looks:
        for holder in holders:
            open_.setdefault(holder.path, []).append((generation, holder))
    return list(open_.values())


def _with_look_before(seen: History, looks: list[Look]) -> History:
    """Add the look before a container was first named, from the count in ``Holder.before``."""
    first, holder = seen[0]
    earlier = [generation for generation, _ in looks if generation < first]
    if holder.before is None or not holder.streak or not earlier:
        return seen
    share = holder.before / holder.entries if holder.entries else 0.0
    retained = None if holder.retained_bytes is None else int(share * holder.retained_bytes)
    before = Holder(
        holder.path,
        holder.element,
        holder.before,
        capacity=holder.capacity,
        retained_bytes=retained,
    )
    return [(earlier[-1], before), *seen]


def _growing(case: Case, seen: History) -> Growth | None:
    holder = seen[-1][1]
    born = _by_outer_rounds(case, seen) or _by_births(case, seen) or _in_one_piece(case, seen)
    if born is not None:
        return born
    container = growth_of(case, seen)
    if holder.path.startswith(NO_ROOT):
        return None
    if len(seen) >= FEWEST_LOOKS and holder.streak >= FEWEST_LOOKS - 1:
        if container.fills or container.since is not None:
            return container
        if container.judged is None or container.judged.verdict.growing == "no":
            return None
    return _as_memory_does(case, container, seen)


def _as_memory_does(case: Case, container: Growth, seen: History) -> Growth | None:
    """Return the growth of a container whose looks are too few or too uneven, or None.

    Memory was read in each generation, so it shows that the growth goes on. The looks must be many
    generations apart, and the container must gain a large part of what memory gains, and no more.
    """
    memory = case.memory()
    if memory is None or not memory.grows or seen[-1][0] - seen[0][0] < BEYOND_CHANCE:
        return None
    if container.is_weak or container.keeps_graphs:
        return None
    if container.bound is not None or (container.rate or 0.0) <= 0:
        return None
    size, whole = container.bytes_rate or 0.0, memory.verdict.rate
    fits = PLURALITY * whole <= size <= (1 + OWN_SHARE) * whole
    return replace(container, since=memory.started_at) if fits else None


def _by_births(case: Case, seen: History) -> Growth | None:
    """Return the growth of a container in which each round left about as much, from births.

    One look suffices; two looks measure its rate. None if births do not show this. A bound that is
    reached is none: a full container could keep what all rounds made only if it had dropped
    nothing, so the bound is that of many containers, one more in each round.
    """
    holder = seen[-1][1]
    birth = case.births.of_holder(holder.path)
    trail = None if birth is None else birth.trail
    if birth is None or trail is None or not trail.residue.steady or not holder.entries:
        return None
    container = growth_of(case, seen)
    if container.is_weak or holder.path.startswith(NO_ROOT) or _is_refuted(seen, birth, trail):
        return None
    born = trail.residue.rate * trail.lasted
    retained = float(holder.retained_bytes or born)
    share = case.births.share_of_loop(holder.path, birth.kept_by(holder) or born)
    known = container.since is not None or (len(seen) > 1 and (container.rate or 0.0) > 0)
    is_full = container.bound is not None and holder.entries >= container.bound
    if is_full and holder.containers == 1:  # a window of the last generations
        return None
    return replace(
        container,
        bound=None if is_full else container.bound,
        full_at=None if is_full else container.full_at,
        rate=container.rate if known else share * holder.entries / trail.lasted,
        bytes_rate=container.bytes_rate if known else share * retained / trail.lasted,
        since=trail.began(container.since),
        proven=True,
        evidence=(
            Evidence("births", KeptOfGenerations(holder.path, trail.since, trail.residue.samples)),
        ),
    )


def _in_one_piece(case: Case, seen: History) -> Growth | None:
    """Return the growth of a buffer whose total rose in each generation, from births; else None."""
    holder, buffer = seen[-1][1], growth_of(case, seen)
    rise = case.births.rise_of(holder) if buffer.is_buffer and not buffer.keeps_graphs else None
    if rise is None or holder.path.startswith(NO_ROOT):
        return None
    (rate, _, looks), since = rise
    return replace(
        buffer,
        bytes_rate=rate,
        since=since,
        proven=True,
        evidence=(Evidence("births", GrewInOnePiece(holder.path, looks)),),
        fix=Extended(holder.element, holder),
    )


def _is_refuted(seen: History, birth: Birth, trail: Trail) -> bool:
    """Return whether the last two looks measured far less than births say was kept between them.

    So it is if the entries of each round take the place of some of different age. What entries keep
    may have other holders, too: then the container retains little, and has as many more entries.
    """
    if len(seen) < 2:
        return False
    (before, earlier), (last, holder) = seen[-2:]
    lasted = last - max(before, trail.since)
    gained = (birth.kept_by(holder) or 0) - (birth.kept_by(earlier) or 0)
    enough = trail.residue.samples * lasted >= BEYOND_CHANCE * trail.lasted
    more = holder.entries - earlier.entries >= MAJORITY * holder.entries * lasted / trail.lasted
    return enough and not more and gained < MAJORITY * trail.residue.rate * lasted


def _by_outer_rounds(case: Case, seen: History) -> Growth | None:
    """Return the growth of a container in which each round of an outer level left about as much.

    An epoch or an evaluation is long and over when the next begins. So two of them suffice, where
    many generations are needed to tell a leak from objects that are still in use. None for a case
    of generations, and if the rounds left different amounts.
    """
    holder = seen[-1][1]
    if case.outer is None or not holder.entries or holder.path.startswith(NO_ROOT):
        return None
    container = growth_of(case, seen)
    left = _left_by_rounds(holder, len(case.run.generations))
    first = next((i for i, size in enumerate(left) if size > 0), len(left))
    kept = left[first:]
    if container.is_weak or len(kept) < REPEATED or first > len(left) // 2:
        return None
    if holder.capacity is not None and container.fills:
        return None
    each, whole = median_low(kept), math.fsum(kept)
    if min(kept) < MAJORITY * whole / len(kept):
        return None
    known = container.since is not None or (len(seen) > 1 and (container.rate or 0.0) > 0)
    measured = KeptOfRounds(holder.path, case.outer.level, len(kept), len(left))
    return replace(
        container,
        rate=container.rate if known else holder.entries * each / whole,
        bytes_rate=each,
        since=case.run.generations[first],
        proven=True,
        evidence=(Evidence("births", measured),),
    )


def _left_by_rounds(holder: Holder, rounds: int) -> list[float]:
    """Return the bytes that a holder keeps of what each round made, by sampled births."""
    left = [0.0] * rounds
    for cohort in (cohort for place in holder.born for cohort in place.cohorts):
        if cohort.round >= 0:
            covered = range(cohort.round, min(cohort.round + cohort.rounds, rounds))
            for round_ in covered:
                left[round_] += cohort.bytes / len(covered)
    return left


def growth_of(case: Case, seen: History, *, proven: bool = True) -> Growth:
    """Return a container's growth, judged by its entries, or by its bytes if these do not grow."""
    holder, path = seen[-1][1], seen[-1][1].path
    generations = tuple(generation for generation, _ in seen)
    entries = tuple(float(h.entries) for _, h in seen)
    retained = tuple(float(h.retained_bytes or 0) for _, h in seen)
    judged = case.judge(Series(path, "count", generations, entries), integer=True)
    by_bytes = case.judge(Series(path, "bytes", generations, retained), noise_floor=BYTES_FLOOR)
    proof = next((j for j in (judged, by_bytes) if j.grows), None)
    rate, bound = slope(generations, entries), _capacity(seen)
    return Growth(
        "container",
        path,
        "container",
        type=holder.element,
        rate=rate,
        bytes_rate=slope(generations, retained),
        since=None if proof is None else proof.started_at,
        judged=judged,
        holder=holder,
        path=holder.trace,
        bound=bound,
        full_at=_full_at(generations[-1], entries[-1], bound, rate),
        proven=proven,
    )


def _capacity(seen: History) -> int | None:
    """Return the bound that all looks agree on; None if there is none.

    A full list no longer shows its bound, so it counts as agreeing.
    """
    bounds = {h.capacity for _, h in seen if h.capacity is not None}
    bound = bounds.pop() if len(bounds) == 1 else None
    agreed = all(h.capacity is not None or h.entries == bound for _, h in seen[-2:])
    return bound if agreed else None


def _full_at(last: int, entries: float, bound: int | None, rate: float) -> int | None:
    """Return the generation in which a bounded container is full at its rate."""
    if bound is None or rate <= 0:
        return None
    return last + math.ceil((bound - entries) / rate)


def alike(path: str) -> str:
    """Return a path without the keys that distinguish several similar containers."""
    return re.sub(r"\[[^\]]*\]", ELEMENT, path)


def together(similar: Sequence[Growth]) -> Growth:
    """Return similar containers as the first of them, with what all of them gain.

    So it is with a list for each key of a dict, if births show that each round adds to each list.
    """
    first, *others = similar
    if not others or first.holder is None:
        return first
    kept = sum(c.holder.retained_bytes or 0 for c in similar if c.holder is not None)
    return replace(
        first,
        rate=math.fsum(c.rate or 0.0 for c in similar),
        bytes_rate=math.fsum(c.bytes_rate or 0.0 for c in similar),
        holder=replace(first.holder, retained_bytes=kept),
        evidence=tuple(replace(e, like=len(others)) for e in first.evidence),
    )


def related(container: Growth, path: str) -> bool:
    """Return True if a container is what a path leads through, or lies inside of its entries."""
    inside = lies_in(container.name, path) and not container.is_alone
    return path.startswith(container.name) or inside
