"""A report as stacks with weights, which every profile format needs.

Two kinds of stacks exist. Under ``held by`` the frames are references, from a root to the entries
of a container. Under ``made at`` the frames are calls, from the outermost to the allocating line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from leakguard.model.births import Birthplace
from leakguard.model.code_line import code_line, written
from leakguard.model.finding import Finding
from leakguard.model.holder import Holder
from leakguard.model.report import Report
from leakguard.model.snapshot import Snapshot
from leakguard.render.text import clean

#: What a stack weighs, and the unit; the order is that of the values in a pprof file.
WEIGHTS = {
    "held_objects": "count",
    "retained_bytes": "bytes",
    "born_objects": "count",
    "born_bytes": "bytes",
    "growth_bytes": "bytes",
}

_HOP = re.compile(r"(?P<label>.+?)  \(?(?P<type>.+?)\)?")  # a hop in the path of a finding
_LARGEST = 2**63 - 1  # a pprof value is a signed integer of 64 bits; a run may come from a stranger


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A reference or a call; ``file`` is empty for a reference."""

    name: str
    file: str = ""
    line: int = 0


HELD, MADE = StackFrame("held by"), StackFrame("made at")


@dataclass(frozen=True, slots=True)
class Stack:
    """Frames, outermost first, with what they weigh and what is known of them."""

    frames: tuple[StackFrame, ...]
    weights: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)


def stacks(report: Report) -> list[Stack]:
    """Return the stacks of the last look that has holders, of the last births, and of findings."""
    shots = report.run.while_looping()
    holders = next((shot.holders for shot in reversed(shots) if shot.holders), ())
    found = list(_held(holders, report.findings))
    found += [_made(place, report.findings) for place in _births(shots)]
    found += [_grown(finding, holders) for finding in report.findings]
    return [stack for stack in found if any(stack.weights.values())]


def _births(shots: Sequence[Snapshot]) -> tuple[Birthplace, ...]:
    return next((shot.births.places for shot in reversed(shots) if shot.births), ())


# -- holders ---------------------------------------------------------------------------------------


def _held(holders: Sequence[Holder], findings: Sequence[Finding]) -> Iterator[Stack]:
    """Yield a stack for each holder, without the bytes of the holders that lie inside of it.

    So a viewer, which adds up what lies above a frame, shows for each holder what it retains. A
    holder inside of another one is part of the finding of the outer one.
    """
    frames = [_references(holder) for holder in holders]
    outer = _nearest_outer(frames)
    for number, (holder, path) in enumerate(zip(holders, frames, strict=True)):
        inside = sum(
            _whole(each.retained_bytes)
            for each, around in zip(holders, outer, strict=True)
            if around == number
        )
        weights = {
            "held_objects": _whole(holder.entries),
            "retained_bytes": max(_whole(holder.retained_bytes) - inside, 0),
        }
        around = outer[number]
        paths = (holder.path, *(() if around is None else (holders[around].path,)))
        labels = _told(next((f for name in paths for f in findings if f.held_by == name), None))
        yield Stack(path, weights, labels | _label("type", holder.element))


def _nearest_outer(frames: Sequence[tuple[StackFrame, ...]]) -> list[int | None]:
    """Return for each path the number of the longest other path that it begins with, if any."""
    index = {path: number for number, path in enumerate(frames)}
    outer = []
    for path in frames:
        shorter = (index.get(path[:size]) for size in range(len(path) - 1, 1, -1))
        outer.append(next((number for number in shorter if number is not None), None))
    return outer


def _references(holder: Holder) -> tuple[StackFrame, ...]:
    hops = [(hop.label, hop.type) for hop in holder.trace]
    return (HELD, *_walk(hops or [(holder.path, holder.element)]))


def _walk(hops: Sequence[tuple[str, str]]) -> Iterator[StackFrame]:
    """Yield a frame for each hop, named by the whole path to it.

    A viewer adds up frames with the same name, and the label ``[*]`` alone is in every path.
    """
    path = ""
    for label, kind in hops:
        path += label if not path or label.startswith((".", "[")) else f" → {label}"
        yield StackFrame(clean(f"{path} ({kind})" if kind else path))


# -- births ----------------------------------------------------------------------------------------


def _made(place: Birthplace, findings: Sequence[Finding]) -> Stack:
    weights = {"born_objects": _whole(place.count), "born_bytes": _whole(place.bytes)}
    sites = (f for f in findings if place.place and f.created_at and f.phase == place.phase
             and f.created_at.split(" in ")[0] == place.place)  # fmt: skip
    labels = _told(next(sites, None)) | _label("phase", place.phase)
    labels["allocator"] = "native" if place.native else "python"
    line = written(place.place, place.function) if place.place else ""
    return Stack(_calls(place.stack or ((line,) if line else ())), labels=labels, weights=weights)


def _calls(sites: Sequence[str]) -> tuple[StackFrame, ...]:
    """Return the frames of calls that are given innermost first."""
    frames = [_call(site) for site in reversed(sites)]
    return (MADE, *(frames or [StackFrame("no line of Python")]))


def _call(site: str) -> StackFrame:
    text = clean(site)
    found = code_line(text)
    if found is None:
        return StackFrame(text)
    return StackFrame(found.function or "<module>", found.file, min(found.line, _LARGEST))


# -- findings --------------------------------------------------------------------------------------


def _grown(finding: Finding, holders: Sequence[Holder]) -> Stack:
    weights = {"growth_bytes": _whole(finding.bytes_per_generation)}
    labels = _told(finding) | _label("type", finding.type)
    return Stack(_grown_frames(finding, holders), weights, labels)


def _grown_frames(finding: Finding, holders: Sequence[Holder]) -> tuple[StackFrame, ...]:
    known = next((holder for holder in holders if holder.path == finding.held_by), None)
    if known is not None:
        return _references(known)
    if finding.path:
        return (HELD, *_walk([_hop(line) for line in finding.path]))
    if finding.held_by:
        return (HELD, *_walk([(finding.held_by, finding.type or "")]))
    if finding.created_stack or finding.created_at:
        return _calls(finding.created_stack or (finding.created_at or "",))
    return (HELD, StackFrame(clean(f"no holder known ({finding.type or finding.kind})")))


def _hop(line: str) -> tuple[str, str]:
    found = _HOP.fullmatch(line)
    return (line, "") if found is None else (found["label"], found["type"])


def _told(finding: Finding | None) -> dict[str, str]:
    if finding is None:
        return {}
    named = {"verdict": finding.verdict, "kind": finding.kind}
    return named | _label("phase", finding.phase)


def _label(name: str, value: str | None) -> dict[str, str]:
    return {name: clean(value)} if value else {}


def _whole(value: float | None) -> int:
    if value is None or not math.isfinite(value):
        return 0
    return min(max(round(value), 0), _LARGEST)
