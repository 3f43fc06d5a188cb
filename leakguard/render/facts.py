"""A finding in words: the ``LEAK DETECTED`` block as (label, value) pairs, worded in one place."""

from __future__ import annotations

from typing import NamedTuple

from leakguard.model.finding import Finding, Kind, Pattern
from leakguard.model.units import format_bytes, format_change, format_difference, format_number
from leakguard.render.forecast import forecast_sentence
from leakguard.render.text import arrows, clean, short_type


class Fact(NamedTuple):
    """One line of a finding; the lines ``more`` follow it, as for a leak trace or a list."""

    label: str
    value: str
    more: tuple[str, ...] = ()


HEADINGS = {
    "leak": "LEAK DETECTED",
    "suspect": "LEAK SUSPECTED",
    "inconclusive": "NOT DECIDED",
    "stable": "NO LEAK",
}

# Patterns of memory that is needed for a while and then freed.
_COSTS: frozenset[Pattern] = frozenset({"sawtooth", "transient"})

_MANNERS: dict[Pattern, str] = {
    "growing": "consistent",
    "filling": "filling up",
    "warm-up": "slowing down",
    "step": "in steps",
    "sawtooth": "rising sawtooth",
    "transient": "briefly",
    "noise": "not consistent",
    "flat": "flat",
}

_NOUNS: dict[Kind, str] = {
    "instances": "object",
    "container": "container entry",
    "tensors": "tensor",
    "arrays": "array",
    "autograd": "autograd graph",
    "cycles": "object in reference cycles",
    "threads": "thread",
    "files": "open file",
    "children": "child process",
    "tasks": "task",
    "queue": "queued item",
}

_PLURALS = {"container entry": "container entries", "child process": "child processes",
            "object in reference cycles": "objects in reference cycles"}  # fmt: skip

_NO_OBJECT: dict[Kind, str] = {
    "native": "memory outside of the Python objects that were counted",
    "fragmentation": "none; freed memory that the allocator keeps",
    "peak": "none that stays; the memory is freed when the phase ends",
    "gpu": "GPU memory",
    "children": "none of this process; a child process takes the memory",
    "copies": "none that grows; the same data is in memory several times",
    "copy-on-write": "none that grows; pages shared with a forked process become private",
}


def heading(finding: Finding) -> str:
    """Return the heading above a finding, ``LEAK DETECTED`` for a leak."""
    if _is_cost(finding):
        return "A COST, NOT A LEAK"
    return HEADINGS[finding.verdict]


def _is_cost(finding: Finding) -> bool:
    return finding.verdict == "inconclusive" and finding.pattern in _COSTS


def leak_facts(finding: Finding) -> tuple[Fact, ...]:
    """Return the known lines of the block in their fixed order."""
    return (*core_facts(finding), *deep_facts(finding))


def core_facts(finding: Finding) -> tuple[Fact, ...]:
    """Return the lines that even a text log allows: phase, growth, object, start, pattern."""
    return (
        Fact("Phase", clean(finding.label or finding.phase or "no single phase stands out")),
        Fact("Growth", _growth_line(finding)),
        *([] if finding.level is None else [Fact("Level", finding.level.words)]),
        Fact("Object", _object(finding)),
        Fact("Started", _started(finding)),
        Fact("Pattern", _pattern(finding)),
    )


def _line(finding: Finding) -> str | None:
    """Return the line that makes the objects and how certain it is, or why none is named."""
    if finding.created_at is not None:
        likely = " (likely: as many objects of this type survive from there as the growth)"
        return finding.created_at + (likely if finding.created_at_likely else "")
    reason = finding.created_at_unknown
    return None if reason is None else f"unknown: {reason}"


def _holder(finding: Finding) -> str | None:
    """Return the container that keeps the objects, or why none is named."""
    reason = finding.held_by_unknown
    return finding.holder_name or finding.held_by or (reason and f"unknown: {reason}")


def deep_facts(finding: Finding) -> tuple[Fact, ...]:
    """Return the lines that need more than a text log: holder, site, retained bytes, fix."""
    lines = (
        ("Type", _qualified(finding)),
        ("Known leak of", finding.library),
        ("Held by", _holder(finding)),
        ("Created at", _line(finding)),
        ("Kept at", " and ".join(finding.kept_elsewhere)),
        ("Retained", _retained(finding)),
        ("Proven", _proven(finding)),
        ("Forecast", finding.forecast and forecast_sentence(finding.forecast)),
        ("Confidence", _confidence(finding)),
        ("Fix", finding.fix),
    )
    facts = [Fact(label, clean(value)) for label, value in lines if value]
    if finding.path:
        held = next((i for i, f in enumerate(facts) if f.label == "Held by"), None)
        ends = "from one object back to it" if _is_cycle(finding) else "from a root to one object"
        trace = Fact("Path", ends, tuple(clean(hop) for hop in finding.path))
        facts.insert(_after(facts, "Held by") if held is not None else 0, trace)
    if finding.created_stack:
        made = next(i for i, f in enumerate(facts) if f.label == "Created at")
        frames = tuple(clean(frame) for frame in finding.created_stack)
        facts[made] = facts[made]._replace(more=frames)
    if finding.ruled_out:
        ruled = Fact("Ruled out", "", tuple(clean(line) for line in finding.ruled_out))
        facts.insert(_after(facts, "Confidence"), ruled)
    return tuple(facts)


def title(finding: Finding) -> str:
    """Return the finding on one short line: what grows, by how much, and where."""
    what = short_type(finding.type) if finding.type else _plural(finding)
    phase = f" in {clean(finding.phase)}" if finding.phase else ""
    if finding.bytes_per_generation is None and finding.count_per_generation is None:
        return f"{clean(finding.reason.partition(' (')[0])}{phase}"
    return f"{what}: {rate(finding)}{phase}"


def rate(finding: Finding) -> str:
    """Return the growth with its unit, ``+7.2 GB per generation``."""
    if finding.bytes_per_generation is not None:
        amount = format_change(finding.bytes_per_generation)
        return f"{amount} {'at its peak' if finding.kind == 'peak' else 'per generation'}"
    if finding.count_per_generation is not None:
        count = format_difference(finding.count_per_generation)
        return f"{count} {_noun(finding)} per generation"
    return "growth not measured"


def interval(finding: Finding) -> str | None:
    """Return the interval of the rate, in bytes, or in objects if bytes are unknown."""
    if finding.interval is None:
        return None
    if finding.bytes_per_generation is None:
        low, high = (f"{v:+,.1f}" for v in finding.interval)
    else:
        low, high = (format_change(v) for v in finding.interval)
    return f"{low} to {high}"


def _after(facts: list[Fact], label: str) -> int:
    labels = [fact.label for fact in facts]
    if label in labels:
        return labels.index(label) + 1
    return labels.index("Fix") if "Fix" in labels else len(labels)


def _growth_line(finding: Finding) -> str:
    if _is_cost(finding) and finding.bytes_per_generation is None:
        return f"none that stays: {clean(finding.reason)}"
    span = interval(finding)
    between = f", {span}" if span and finding.interval and _is_wide(finding) else ""
    manner = "until collected" if _is_cycle(finding) else _MANNERS[finding.pattern]
    return f"{rate(finding)} ({manner}{between})"


def _is_cycle(finding: Finding) -> bool:
    """True for garbage in cycles that the collector frees."""
    return finding.kind == "cycles" and finding.pattern == "sawtooth"


def _is_wide(finding: Finding) -> bool:
    # An interval that rounds to the rate adds no information.
    center = finding.bytes_per_generation
    if finding.interval is None or center is None:
        return False
    low, high = finding.interval
    return abs(high - low) > 0.1 * abs(center)


def _object(finding: Finding) -> str:
    if finding.type is None and not finding.counts:
        return _NO_OBJECT.get(finding.kind, "unknown; no recorded count grows with it")
    what = short_type(finding.type) if finding.type else _singular(finding)
    if len(finding.counts) < 2:
        return what
    falling = finding.counts[-1] < finding.counts[0]
    counts = arrows([f"{count:,}" for count in finding.counts])
    return f"{what} count {'changing' if falling else 'increasing'}: {counts}"


def _started(finding: Finding) -> str:
    if finding.started_at is None:
        return "not known"
    return f"Generation {finding.started_at}"


def _pattern(finding: Finding) -> str:
    if finding.kind == "peak":
        return "Briefly needs more memory, and frees it"
    if finding.kind == "copies":
        return "The same data, more than once"
    if finding.count_per_generation:
        what = short_type(finding.type) if finding.type else _noun(finding)
        return f"Adds {format_number(finding.count_per_generation)} {what} per generation"
    if finding.bytes_per_generation:
        return f"Adds {format_bytes(finding.bytes_per_generation)} per generation"
    return finding.pattern.capitalize()


def _qualified(finding: Finding) -> str | None:
    if finding.type is None or short_type(finding.type) == clean(finding.type):
        return None
    return finding.type


def _proven(finding: Finding) -> str | None:
    proof = finding.proof
    if proof is None:
        return None
    if proof.released is None:
        return f"no, nothing was cut: {proof.refused}"
    told = "" if proof.told is None else f" ({format_bytes(proof.told)} reported)"
    return f"cutting it in a copy of the process released {format_bytes(proof.released)}{told}"


def _retained(finding: Finding) -> str | None:
    if finding.retained_bytes is None:
        return None
    return f"{format_bytes(finding.retained_bytes)}, released when the reference is cut"


def _confidence(finding: Finding) -> str:
    reason = finding.reason
    if finding.confidence is None:
        return reason
    return f"{percent(finding.confidence)} ({reason})" if reason else percent(finding.confidence)


def percent(share: float) -> str:
    """Return a share as a whole per cent; 0 % and 100 % only if exact."""
    rounded = round(share * 100)
    if rounded == 0 and share > 0:
        return "< 1 %"
    return f"{99 if rounded == 100 and share < 1 else rounded} %"


def _singular(finding: Finding) -> str:
    return _NOUNS.get(finding.kind, "object")


def _noun(finding: Finding) -> str:
    return _singular(finding) if finding.count_per_generation == 1 else _plural(finding)


def _plural(finding: Finding) -> str:
    noun = _NOUNS.get(finding.kind, "memory" if finding.bytes_per_generation else "object")
    if noun == "memory":
        return noun
    return _PLURALS.get(noun, f"{noun}s")
