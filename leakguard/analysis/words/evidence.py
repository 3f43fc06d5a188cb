"""What each instrument measured, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leakguard.analysis.facts import measured as m
from leakguard.analysis.facts.measured import MetricGrows
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.words.series import why_it_grows
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_change, format_number

_TITLES = {
    "heap_in_use": "the allocator's bytes in use",
    "python_blocks": "Python's memory blocks",
    "rss_anonymous": "anonymous RSS",
    "rss": "RSS",
}
_NO_BOUND = "has no bound"
_GRAPHS = "its entries keep whole autograd graphs"
_A_GENERATION = "a generation"


def reason(lead: Growth, evidence: Sequence[Evidence], companions: Iterable[str]) -> str:
    """Return the evidence for a growth, and the names of what grows with it."""
    told = filter(None, map(sentence, evidence))
    said = ("; " if lead.source in ("type", "cycles") else ", and ").join(told)
    names = ", ".join(companions)
    return f"{said}; also growing: {names}" if names else said


def sentence(evidence: Evidence) -> str:
    """Return what an instrument measured; empty if that adds nothing to the other evidence."""
    said = "" if evidence.measured is None else _said(evidence.measured)
    if not evidence.like:
        return said
    like = "so does one like it" if evidence.like == 1 else f"so do {evidence.like} like it"
    return f"{said}; {like}"


def of_rounds(text: str, level: str) -> str:
    """Return a sentence about generations as one about the rounds that they were there."""
    return text.replace("generation", level)


def grows(metric: MetricGrows) -> str:
    """Return the growth of a number of the process."""
    name = METRICS[metric.metric].words
    if metric.unit == "count":
        why = why_it_grows(metric.why, metric.unit)
        return f"{name} grow by {format_number(metric.rate)} per generation: {why}"
    low, high = map(format_bytes, metric.interval)
    return f"{name} grows by {format_change(metric.rate)} per generation ({low} to {high})"


def _said(found: m.Measured) -> str:
    match found:
        case m.CountGrows(rate):
            return f"the count grows by {format_number(rate)} per generation"
        case m.CountShare(rate):
            return f"{format_number(rate)} per generation of what the count gains"
        case m.MetricGrows():
            return grows(found)
        case m.GrowsInPools(memory):
            where = "in Python's small-object allocator but in no reachable object"
            return f"{grows(memory)}, {where}"
        case m.PagesCopied():
            return _pages_copied(found)
        case m.HeldFree():
            return _held_free(found)
        case m.MoreFrozen(rate, frozen):
            return (
                f"gc.freeze() hides {rate:,.0f} more objects per generation from the collector, "
                f"{frozen:,.0f} by now: garbage in cycles among them is never freed"
            )
        case m.MemoryToo():
            return _memory_too(found)
        case m.MemoryGrew(metric):
            return f"{_TITLES[metric]} grew too"
        case "live memory too":
            return "live memory grows, too"
        case m.MetricToo(metric):
            return f"so does {METRICS[metric].words}"
        case "sizes too":
            return "so do the bytes of counted objects"
        case m.NotAsExpected((low, high), alive):
            expected = str(low) if low == high else f"{low} to {high}"
            return f"{expected} expected, {alive} alive"
        case m.ContainerGrows():
            return _container_grows(found)
        case m.GrewAtLooks(path, looks, rate):
            return f"{path} grew at each of {looks} looks, by {format_change(rate)} per generation"
        case m.GainedEntries(path, rate):
            return f"{path} gained {_entries(rate)} per generation since objects were first counted"
        case m.KeptOfGenerations(path, since, samples):
            return (
                f"{path} keeps as much of what each generation since {since} has made "
                f"({samples} samples)"
            )
        case m.LeftOfGenerations(line, since, samples):
            return (
                f"{line} left as much of each generation since {since}, in none of the holders "
                f"that were found ({samples} samples)"
            )
        case m.GrewInOnePiece(path, looks):
            return f"{path} is one object, and was larger at each of {looks} looks at births"
        case m.KeepsAsMuch(path, size):
            return f"{path} keeps {format_bytes(size)} that the loop made, by samples of births"
        case m.KeptOfRounds(path, level, kept, rounds):
            return f"{path} keeps about as much of what each {level} has made ({kept} of {rounds})"
        case m.GraphKept():
            return _graph_kept(found)
        case m.BehindExtension(metric, rate):
            return (
                f"{METRICS[metric].words} grows by {format_change(rate)} per generation in no "
                "counted object, and these objects of an extension are kept"
            )
        case m.GaugeGrows(name, rate, capacity):
            grown = f"{name} grows by {format_number(rate)} per generation"
            if capacity is None:
                return f"{grown} and it has no capacity"
            return f"{grown}, and it is past its capacity {capacity:,.0f}"
        case m.ChildGrows(name, rate, first, last):
            return (
                f"the memory that only {name} has grows by {format_change(rate)} per generation, "
                f"from {format_bytes(first)} to {format_bytes(last)}; this process does not gain it"
            )
        case m.NotFreed():
            return _not_freed(found)
        case m.FreedInCycles(type_, freed, size, collections):
            return (
                f"{collections} collection{'s' if collections > 1 else ''} freed {freed} {type_} "
                f"and {format_bytes(size)} that only cycles kept alive"
            )
        case m.LeftInCycles(type_, count, size):
            return (
                f"no root leads to {count} {type_} and {format_bytes(size)} any more: cycles keep "
                "them alive, and the program's collector is off"
            )
        case "piled up":
            return "until then their number grew in every generation"
        case m.WaitingGarbage():
            return _waiting_garbage(found)
        case m.SameData():
            return _same_data(found)
        case m.BriefPeak():
            return _peak(found)
        case m.Unexplained(metric, growth, explained):
            return (
                f"{METRICS[metric].words} grows by {format_change(growth)} per generation, of "
                f"which all other findings explain {format_bytes(explained)}"
            )
        case m.Allocators(rates):
            gains = (f"{METRICS[name].words} {format_change(rate)}" for name, rate in rates)
            return f"per generation: {', '.join(gains)}"
        case m.TypesRose(rates):
            gains = (f"{name} {format_change(rate)}" for name, rate in rates)
            rose = "counted objects that rose per generation beside those told"
            return f"{rose}: {', '.join(gains)}"


def _pages_copied(found: m.PagesCopied) -> str:
    beside = "" if found.rss is None else f" while RSS stays at {format_bytes(found.rss)}"
    return (
        f"{grows(found.private)}{beside}: pages that a fork shares are copied when one of the "
        "processes writes to them, and no object is made"
    )


def _held_free(found: m.HeldFree) -> str:
    beside = "" if found.live is None else f" ({format_change(found.live)})"
    return (
        f"the C allocator keeps {format_change(found.rate)} more freed memory per generation, "
        f"{format_bytes(found.held)} by now, and RSS grows with it; live memory does not{beside}"
    )


def _memory_too(found: m.MemoryToo) -> str:
    title = _TITLES[found.metric]
    grow = "grows" if title.endswith("RSS") else "grow"
    return f"{title} {grow} {'in the same phase' if found.in_phase else 'too'}"


def _entries(rate: float) -> str:
    number = format_number(rate)
    return f"{number} {'entry' if number == '1' else 'entries'}"


def _container_grows(found: m.ContainerGrows) -> str:
    entries = _entries(found.rate)
    why = _NO_BOUND
    if found.keeps_graphs:
        why = (
            f"{_GRAPHS}, so its bound does not help"
            if found.is_bounded
            else (f"{_NO_BOUND}, and {_GRAPHS}")
        )
    return f"{found.path} grows by {entries} per generation and {why}"


def _graph_kept(found: m.GraphKept) -> str:
    keep = "keep" if len(found.holders) > 1 else "keeps"
    return (
        f"{' and '.join(found.holders)} {keep} a backward graph of {found.nodes:,} nodes: "
        f"{found.more:+,} nodes of such graphs since generation {found.since}"
    )


def _not_freed(found: m.NotFreed) -> str:
    why = f" ({found.why})" if found.why else ""
    times = f"{found.generations} generations" if found.generations > 1 else "one generation"
    return (
        f"{found.alive} {found.type} that should have been freed{why} "
        f"{'was' if found.alive == 1 else 'were'} alive after a collection, in {times}"
    )


def _waiting_garbage(found: m.WaitingGarbage) -> str:
    return (
        f"garbage in cycles piles up until the collector comes: in {found.generations} "
        f"generations {METRICS[found.metric].words} fell by about {format_bytes(found.freed)} as "
        f"it freed objects in cycles, and {format_bytes(found.left)} were left; the run needs room "
        "for both"
    )


def _same_data(found: m.SameData) -> str:
    return (
        f"the same data is in memory {found.times} times, unchanged since generation "
        f"{found.since}: {format_bytes(found.bytes)} each, {format_bytes(found.spare)} of it "
        f"redundant; held by {', '.join(found.holders) or 'no holder that was found'}"
    )


def _peak(found: m.BriefPeak) -> str:
    return (
        f"{found.phase or _A_GENERATION} briefly takes {format_bytes(found.over)} more than before "
        f"and after it, in {found.high} of {found.generations} generations: "
        f"{format_bytes(found.before)} before, {format_bytes(found.top)} at the peak of generation "
        f"{found.worst}; it is freed"
    )
