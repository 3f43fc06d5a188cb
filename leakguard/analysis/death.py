"""How a run ended that recorded no end, or that ran out of memory, and who held the memory then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.model import Run, Snapshot
from leakguard.model.brink import Brink, Ceiling, Death
from leakguard.model.holder import Holder
from leakguard.model.units import format_bytes

# From this share of a limit on, memory is near it: below it nothing is recorded of the brink.
_AT_BRINK = 0.85
# From this share on, a process that was killed without notice died of memory as far as anyone can
# tell. Below it, it must have been rising, too. Chosen: the last record comes at each per cent.
_AT_LIMIT = 0.95
# Memory rises if it gained this share of the limit since the first record near the limit.
_RISES = 0.01
_IN_WORDS = {
    "cgroup": "the {most} of its cgroup",
    "cgroup high": "the {most} of memory.high of its cgroup, which slows but does not kill",
    "address space": "the {most} of address space that it may have (RLIMIT_AS)",
    "data": "the {most} of data that it may have (RLIMIT_DATA)",
    "known": "its limit of {most}",
    "machine": "the {most} that the machine had for it",
    "gpu": "the {most} of its GPU",
}
# Limits at which the kernel kills; at the others an allocation fails, or is slowed down.
_KILLS = ("cgroup", "machine", "known")
# Below this share of the memory of the process, the largest holder is not what held it. Chosen.
_LITTLE = 0.1


def death_of(run: Run) -> Death | None:
    """Return how a run died; None if it ended properly, still runs, or may still run."""
    if run.failure is None and (not run.is_part or not run.is_over):
        return None
    near = [s for s in run.snapshots if s.brink is not None]
    last = _last_ceiling(run, near)
    generation = _generation(run)
    where = "" if generation is None else f" in generation {generation:,}"
    held, holder, share, before = _held(run, near)
    if run.failure is not None:
        kind = run.failure.type
        of_memory: bool | None = True
        how = f"died of memory{where} ({kind}{_at(last)})"
    else:
        kind, of_memory, how = _killed(where, run, near, last)
    sentence = how if of_memory is False else how + held
    return Death(of_memory, sentence, kind, generation, holder, share, last, before)


def _killed(
    where: str, run: Run, near: Sequence[Snapshot], last: Ceiling | None
) -> tuple[str, bool | None, str]:
    if last is None:
        said = f"killed or crashed{where}; how near a limit of memory it was is not known"
        return "killed", None, said
    at = f"{100 * last.share:.0f} % of {_words(last)}"
    if last.share < _AT_BRINK:
        said = f"killed or crashed{where}, far from a limit of memory: at the last record, at {at}"
        return "killed", False, said
    if last.kind in _KILLS and (last.share >= _AT_LIMIT or _is_rising(run, near, last)):
        return "OOM kill", True, f"died of memory{where} (OOM kill, as far as can be told: {at})"
    said = f"killed or crashed{where} at {at}; whether it died of memory is not known"
    return "killed", None, said


def _is_rising(run: Run, near: Sequence[Snapshot], last: Ceiling) -> bool:
    """Return whether memory rose to the last record.

    It did if it rose since the first record near the limit, or if there is one record only, the
    very last, and as much had been gained since the snapshot before it as was left.
    """
    shares = [s.brink.ceiling.share for s in near if s.brink is not None]
    if len(shares) > 1:
        return last.share >= max(shares) and shares[-1] - shares[0] >= _RISES
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


def _held(run: Run, near: Sequence[Snapshot]) -> tuple[str, str | None, float | None, float | None]:
    """Return who held most, in words, and as values: the path, its share, and seconds before."""
    looks = [s for s in near if s.brink is not None and s.brink.threshold is not None]
    look = next((s for s in reversed(looks) if s.brink is not None and s.brink.holders), None)
    if look is None or look.brink is None:
        why = next((s.brink.skipped for s in reversed(looks) if s.brink and s.brink.skipped), None)
        known = " because there was no look near the limit" if why is None else f": {why}"
        return f"; who held it is not known{known}", None, None, None
    brink, first = look.brink, look.brink.holders[0]
    share = min((first.retained_bytes or 0) / max(_of(brink, run), 1), 1.0)
    before = _seconds_before(look, run)
    when = "" if before is None else f"{_duration(before)} before the last record, "
    if share < _LITTLE:
        return (
            f"; {when}no container held as much as a tenth of it, the largest was {first.path}",
            first.path, share, before,
        )  # fmt: skip
    whose = "GPU memory" if brink.ceiling.kind == "gpu" else "memory"
    return (
        f"; {when}about {100 * share:.0f} % of its {whose} was held by {first.path}"
        f"{_growth_in_words(first)}{_second(brink, share, run)}",
        first.path, share, before,
    )  # fmt: skip


def _of(brink: Brink, run: Run) -> int:
    """Return the bytes of which a holder has its share: what the process itself had."""
    known = [int(s.metrics["rss"]) for s in run.snapshots if "rss" in s.metrics]
    if brink.own is not None:
        return brink.own
    return max([*known, brink.found or 0])


def _growth_in_words(holder: Holder) -> str:
    if holder.before is None or holder.entries <= holder.before:
        return ""
    return f", which grew from {holder.before:,} to {holder.entries:,} entries"


def _second(brink: Brink, share: float, run: Run) -> str:
    """Name the largest holder, if it is not the one that grew."""
    largest = max(brink.holders, key=lambda holder: holder.retained_bytes or 0)
    if largest is brink.holders[0]:
        return ""
    part = min((largest.retained_bytes or 0) / max(_of(brink, run), 1), 1.0)
    return f"; most, {100 * part:.0f} %, by {largest.path}"


def _seconds_before(look: Snapshot, run: Run) -> float | None:
    last = next((s.seconds for s in reversed(run.snapshots) if s.seconds is not None), None)
    return None if last is None or look.seconds is None else max(last - look.seconds, 0.0)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _generation(run: Run) -> int | None:
    """Return the generation in which the run ended: the one after the last that ended."""
    last = next((s for s in reversed(run.snapshots) if s.generation is not None), None)
    if last is None or last.generation is None:
        return None
    return last.generation + (last.moment == "generation")


def _at(ceiling: Ceiling | None) -> str:
    return "" if ceiling is None else f", at {100 * ceiling.share:.0f} % of {_words(ceiling)}"


def _words(ceiling: Ceiling) -> str:
    return _IN_WORDS[ceiling.kind].format(most=format_bytes(ceiling.most))
