"""How a run died, in a sentence."""

from __future__ import annotations

from leakguard.analysis.facts.end import End, HeldAtEnd
from leakguard.model.brink import Ceiling
from leakguard.model.holder import Holder
from leakguard.model.units import duration, format_bytes

_LIMITS = {
    "cgroup": "the {most} of its cgroup",
    "cgroup high": "the {most} of memory.high of its cgroup, which slows but does not kill",
    "address space": "the {most} of address space that it may have (RLIMIT_AS)",
    "data": "the {most} of data that it may have (RLIMIT_DATA)",
    "known": "its limit of {most}",
    "machine": "the {most} that the machine had for it",
    "gpu": "the {most} of its GPU",
}


def death(end: End, held: HeldAtEnd | None) -> str:
    """Return how a run ended, and who held the memory if that is told."""
    return _how(end) if held is None else _how(end) + _held(held)


def _how(end: End) -> str:
    where = "" if end.generation is None else f" in generation {end.generation:,}"
    at = "" if end.ceiling is None else _at(end.ceiling)
    match end.how:
        case "exception":
            return f"died of memory{where} ({end.kind}{f', at {at}' if at else ''})"
        case "OOM kill":
            return f"died of memory{where} (OOM kill, as far as can be told: {at})"
        case "far":
            return (
                f"killed or crashed{where}, far from a limit of memory: at the last record, at {at}"
            )
        case "near":
            return f"killed or crashed{where} at {at}; whether it died of memory is not known"
        case "unknown":
            how_near = "how near a limit of memory it was is not known"
            return f"killed or crashed{where}; {how_near}"


def _at(ceiling: Ceiling) -> str:
    limit = _LIMITS[ceiling.kind].format(most=format_bytes(ceiling.most))
    return f"{100 * ceiling.share:.0f} % of {limit}"


def _held(held: HeldAtEnd) -> str:
    if held.holder is None or held.share is None:
        known = held.skipped
        why = " because there was no look near the limit" if known is None else f": {known}"
        return f"; who held it is not known{why}"
    path = held.holder.path
    when = "" if held.before is None else f"{duration(held.before)} before the last record, "
    if not held.matters:
        return f"; {when}no container held as much as a tenth of it, the largest was {path}"
    whose = "GPU memory" if held.of_gpu else "memory"
    most = (
        ""
        if held.larger is None
        else (f"; most, {100 * held.larger.share:.0f} %, by {held.larger.path}")
    )
    return (
        f"; {when}about {100 * held.share:.0f} % of its {whose} was held by {path}"
        f"{_grew(held.holder)}{most}"
    )


def _grew(holder: Holder) -> str:
    if holder.before is None or holder.entries <= holder.before:
        return ""
    return f", which grew from {holder.before:,} to {holder.entries:,} entries"
