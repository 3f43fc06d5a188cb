"""The first sentence of a report, and what is told of an earlier loop."""

from __future__ import annotations

from leakguard.analysis.facts.doubt import Doubt
from leakguard.analysis.words.cleared import pace
from leakguard.analysis.words.limits import doubt
from leakguard.model import Finding, Run
from leakguard.model.balance import Balance
from leakguard.model.census import GRAPH_NODE
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_change, format_number

#: How the headline of an undecided run begins.
CANNOT_TELL = "Cannot tell: "

_WORDS = {
    "threads": ("thread", "threads"),
    "open_files": ("open file", "open files"),
    "children": ("child process", "child processes"),
    GRAPH_NODE: ("node of a backward graph", "nodes of a backward graph"),
}

# Growth below this many objects per generation is reported as "1 more every N generations". Chosen:
# an average of half an object per generation or more is easy to picture.
_SELDOM = 0.5


def headline(finding: Finding) -> str:
    """Return a finding in one sentence: where, since when, how many of what, held by whom."""
    what = _thing(finding)
    since = None if finding.started_at is None else f"since generation {finding.started_at}"
    parts = [f"In {finding.phase}"] if finding.phase else []
    parts += [since] if since else []
    if finding.count_per_generation is not None:
        parts.append(_more(finding.count_per_generation, what))
    elif finding.bytes_per_generation is None:
        parts.append(finding.reason.partition(" (")[0])
    elif finding.kind == "copy-on-write":
        parts.append("pages shared with a forked process are copied")
    else:
        parts.append(f"memory of {what} grows" if finding.type else "memory grows")
    if finding.held_by:
        parts.append(f"held by {finding.holder_name or finding.held_by}")
    if finding.library:
        parts.append(f"a known leak of {finding.library}")
    if finding.created_at:
        likely = "likely " if finding.created_at_likely else ""
        parts.append(f"{likely}made at {finding.created_at}")
    elif finding.kept_at:
        parts.append(f"kept at {' and '.join(finding.kept_at)}")
    if finding.bytes_per_generation:
        parts.append(f"{format_change(finding.bytes_per_generation)} per generation")
    if finding.level is not None:
        parts.append(finding.level.words)
    said = ", ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


def undecided_headline(why: Doubt) -> str:
    """Return that a run is undecided, and why."""
    return f"{CANNOT_TELL}{doubt(why)}."


def calm_headline(generations: int, trifle: tuple[str, Balance] | None, least: float | None) -> str:
    """Return that nothing leaks, with the small gain of a metric of memory if there is one.

    ``least`` is the least growth in bytes per generation that would be detected, if known.
    """
    but = "; growth below {} per generation would go undetected"
    said = "nothing grows without bound" if trifle is None else _trifle(*trifle)
    undetected = "" if least is None else but.format(format_bytes(least))
    return f"No leak: {said} over {generations:,} generations{undetected}."


def left_behind(finding: Finding) -> str:
    """Return what grew in an earlier loop of a process."""
    said = headline(finding).rstrip(".")
    return f"{said[:1].lower()}{said[1:]}, as it would in a loop that loads data"


def beside(earlier: Run, left: str) -> str:
    """Return what grew in an earlier loop, for the report of a later one."""
    loop = earlier.info.generation_means or "an earlier loop"
    count = earlier.generation_count
    return f"what grew before, in {count:,} generations of {loop} (--all): {left}"


def _trifle(metric: str, balance: Balance) -> str:
    return (
        f"nothing grows that matters ({METRICS[metric].words} gains "
        f"{format_bytes(balance.growth)} per generation{pace(balance.daily)})"
    )


def _more(rate: float, what: str) -> str:
    """Return the increase per generation; below one object in two generations, the interval."""
    if 0 < rate < _SELDOM:
        return f"1 more {what} every {round(1 / rate):,} generations"
    return f"{format_number(rate)} more {what} per generation"


def _thing(finding: Finding) -> str:
    """Return the singular or plural word for the growing things; a class is named as it is."""
    name = finding.type or "memory"
    short = name.rsplit(".", 1)[-1]
    one, several = _WORDS.get(name, (short, short))
    if finding.kind == "cycles" and finding.type:
        one = several = f"{short} in reference cycles"
    rate = finding.count_per_generation
    return one if rate is not None and (rate == 1 or 0 < rate < _SELDOM) else several
