"""How a run ended that recorded no end, or that ran out of memory, and who held the memory then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.facts.end import End, HeldAtEnd, How, Share
from leakguard.analysis.tolerance import AT_BRINK, AT_LIMIT, OWN_SHARE
from leakguard.analysis.words import death as words
from leakguard.model import Run, Snapshot
from leakguard.model.brink import Brink, Ceiling, Death
from leakguard.model.holder import Holder

# Limits at which the kernel kills; at the others an allocation fails, or is slowed down.
_KILLS = ("cgroup", "machine", "known")
# Whether the run died of memory; None if that is not known.
_OF_MEMORY: dict[How, bool | None] = {
    "exception": True,
    "OOM kill": True,
    "far": False,
    "near": None,
    "unknown": None,
}


def death_of(run: Run) -> Death | None:
    """Return how a run died; None if it ended properly, still runs, or may still run."""
    if run.failure is None and (not run.is_part or not run.is_over):
        return None
    near = [s for s in run.snapshots if s.brink is not None]
    last = _last_ceiling(run, near)
    kind, how = _ended(run, near, last)
    held = _held(run, near)
    end = End(how, kind, _generation(run), last)
    return Death(
        of_memory=_OF_MEMORY[how],
        sentence=words.death(end, None if how == "far" else held),
        kind=kind,
        generation=end.generation,
        holder=None if held.holder is None else held.holder.path,
        share=held.share,
        ceiling=last,
        before=held.before,
    )


def _ended(run: Run, near: Sequence[Snapshot], last: Ceiling | None) -> tuple[str, How]:
    if run.failure is not None:
        return run.failure.type, "exception"
    if last is None:
        return "killed", "unknown"
    if last.share < AT_BRINK:
        return "killed", "far"
    if last.kind in _KILLS and (last.share >= AT_LIMIT or _is_rising(run, near, last)):
        return "OOM kill", "OOM kill"
    return "killed", "near"


def _is_rising(run: Run, near: Sequence[Snapshot], last: Ceiling) -> bool:
    """Return whether memory rose to the last record.

    It did if it rose since the first record near the limit, or if there is one record only, the
    very last, and as much had been gained since the snapshot before it as was left.
    """
    shares = [s.brink.ceiling.share for s in near if s.brink is not None]
    if len(shares) > 1:
        return last.share >= max(shares) and shares[-1] > shares[0]
    brink = near[0].brink if near else None
    before = [s.metrics["rss"] for s in run.snapshots if "rss" in s.metrics]
    if brink is None or brink.own is None or not before or run.snapshots[-1] is not near[0]:
        return False
    return brink.own - before[-1] >= last.left


def _last_ceiling(run: Run, near: Sequence[Snapshot]) -> Ceiling | None:
    """Return the nearest limit at the last snapshot with numbers.

    After the last record near the limit, the memory of the process itself tells how much less or
    more was used.
    """
    known = [s for s in run.snapshots if "rss" in s.metrics]
    if not near:
        limit = run.info.memory_limit
        if not known or not limit:
            return None
        return Ceiling("known", int(known[-1].metrics["rss"]), limit)
    brink = near[-1].brink
    assert brink is not None
    later = [s for s in known if s.serial > near[-1].serial]
    if not later or brink.own is None or brink.ceiling.kind == "gpu":
        return brink.ceiling
    change = int(later[-1].metrics["rss"]) - brink.own
    return replace(brink.ceiling, used=max(brink.ceiling.used + change, 0))


def _held(run: Run, near: Sequence[Snapshot]) -> HeldAtEnd:
    """Return who held most at the last look near the limit."""
    looks = [s for s in near if s.brink is not None and s.brink.threshold is not None]
    look = next((s for s in reversed(looks) if s.brink is not None and s.brink.holders), None)
    if look is None or look.brink is None:
        why = next((s.brink.skipped for s in reversed(looks) if s.brink and s.brink.skipped), None)
        return HeldAtEnd(skipped=why)
    brink, first = look.brink, look.brink.holders[0]
    share = _share(brink, first, run)
    largest = max(brink.holders, key=lambda holder: holder.retained_bytes or 0)
    return HeldAtEnd(
        holder=first,
        share=share,
        before=_seconds_before(look, run),
        of_gpu=brink.ceiling.kind == "gpu",
        matters=share >= OWN_SHARE,
        larger=None if largest is first else Share(largest.path, _share(brink, largest, run)),
    )


def _share(brink: Brink, holder: Holder, run: Run) -> float:
    return min((holder.retained_bytes or 0) / max(_of(brink, run), 1), 1.0)


def _of(brink: Brink, run: Run) -> int:
    """Return the bytes of which a holder has its share: what the process itself had."""
    known = [int(s.metrics["rss"]) for s in run.snapshots if "rss" in s.metrics]
    if brink.own is not None:
        return brink.own
    return max([*known, brink.found or 0])


def _seconds_before(look: Snapshot, run: Run) -> float | None:
    last = next((s.seconds for s in reversed(run.snapshots) if s.seconds is not None), None)
    return None if last is None or look.seconds is None else max(last - look.seconds, 0.0)


def _generation(run: Run) -> int | None:
    """Return the generation in which the run ended: the one after the last that ended."""
    last = next((s for s in reversed(run.snapshots) if s.generation is not None), None)
    if last is None or last.generation is None:
        return None
    return last.generation + (last.moment == "generation")
