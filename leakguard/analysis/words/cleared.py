"""Why growth is no leak, in a sentence for each reason."""

from __future__ import annotations

from leakguard.analysis.facts import harmless as h
from leakguard.analysis.facts.harmless import Harmless
from leakguard.analysis.words.evidence import grows
from leakguard.model import Cleared
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_change, format_number

_LEVELS = {
    "warm-up": "rose at the start and has settled",
    "step": "rose in a step and has stayed there since",
    "sawtooth": "rises and comes back down",
    "transient": "rose for a while and came back down",
}


def cleared(growth: Harmless) -> Cleared:
    """Return growth that is no leak as the report has it."""
    return Cleared(
        growth.metric,
        growth.pattern,
        _why(growth),
        growth.plateau,
        growth.until,
        growth.bytes_per_generation,
    )


def _why(growth: Harmless) -> str:
    name, why = growth.metric, growth.why
    match why:
        case h.Filled():
            return _filled(growth, why)
        case h.Ended(last):
            return (
                f"{name} grew until its last inspection, in generation {last}; neither its type's "
                "count nor live memory has grown since"
            )
        case h.HeldMore(gained, since, size, held_by):
            return (
                f"{gained} more since generation {since}, {format_bytes(size)} in all, held by "
                f"{held_by}: too little here to tell whether it goes on"
            )
        case h.FewBytes(rate):
            after = format_bytes(1000 * rate)
            each = f"{name} gains {format_bytes(rate)} per generation"
            return f"{each}: {after} after a thousand of them"
        case h.LittleMemory(rate, so_far, daily):
            return (
                f"{METRICS[name].words} grows by {format_change(rate)} per generation, "
                f"{format_bytes(so_far)} so far{pace(daily)}: too little here to look for what "
                "keeps it"
            )
        case h.LittleOfMetric(metric, daily):
            return f"{grows(metric)}{pace(daily)}: too little to matter"
        case h.FirstTouched(metric):
            return (
                f"{grows(metric)} while nothing more is mapped: pages of an existing segment are "
                "touched for the first time, and there are no more of them than were mapped"
            )
        case h.ReserveOfAllocator(metric, held, in_use):
            return (
                f"{grows(metric)}: the allocator keeps {format_bytes(held)} of freed memory to use "
                f"it again, beside {format_bytes(in_use)} in use"
            )
        case h.WhileFilling():
            return _while_filling(growth, why)
        case h.FitsCaches(rate, filled, caches):
            of = ", ".join(
                f"{n} {cache.type} ({cache.what}; {cache.source})" for n, cache in caches
            )
            return (
                f"{METRICS[name].words} grows by {format_change(rate)} per generation, "
                f"about {format_bytes(filled)} so far; it fits into the caches of {of}"
            )
        case h.LevelledOff():
            return _levelled_off(growth, why)
        case h.CycleCost():
            return _cycle_cost(why)


def _filled(growth: Harmless, why: h.Filled) -> str:
    filled, full = f"{why.filled:,.0f} of {growth.plateau or 0.0:,.0f}", growth.until
    until = "" if full is None else f"until generation {full}"
    if why.is_gauge:
        until = f"{until}, then stays" if until else "towards its capacity"
    return f"{growth.metric} fills {until or 'towards its bound'}: {filled}"


def pace(daily: float | None) -> str:
    """Return what growth comes to in a day, to follow its rate; empty if that is unknown."""
    return "" if daily is None else f", {format_bytes(daily)} a day at this pace"


def _while_filling(growth: Harmless, why: h.WhileFilling) -> str:
    names, size = " and ".join(why.gauges), format_change(why.rate)
    said = f"{METRICS[growth.metric].words} grows by {size} per generation while {names} fills"
    if growth.until is None or growth.plateau is None:
        return said
    return f"{said}: until generation {growth.until}, then {format_bytes(growth.plateau)}"


def _levelled_off(growth: Harmless, why: h.LevelledOff) -> str:
    name, change = METRICS[growth.metric].words, format_change(why.rose)
    if growth.plateau is None:
        levels = _LEVELS.get(growth.pattern, "rose and levelled off")
        return f"{name} {levels}: {change} at the most"
    end = format_bytes(growth.plateau)
    so_far = f"{change} in {why.generations} generations, less each time"
    if growth.until is None:
        return f"{name} fills up to {end}: {so_far}"
    return f"{name} fills until generation {growth.until}, then {end}: {so_far}"


def _cycle_cost(why: h.CycleCost) -> str:
    said = (
        f"objects in cycles waited for the collector, which freed {format_bytes(why.freed)} "
        f"in all, at most {format_bytes(why.at_once)} at once"
    )
    if why.most is not None:
        said += f"; up to {format_number(why.most)} {why.type} at a time"
    if why.collections is None:
        return said
    return (
        f"{said}. The program's own collector ran {why.collections} times: a cost, not a leak. "
        "Breaking the cycles saves it, a smaller gc.set_threshold() lowers the peak, and "
        "gc.freeze() after start-up makes each collection cheaper"
    )
