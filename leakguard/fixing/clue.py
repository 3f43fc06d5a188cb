"""What a finding tells about the place to change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from leakguard.model.code_line import code_line
from leakguard.model.finding import Finding, Kind
from leakguard.model.run import Run

_HOP = re.compile(r"^(?P<label>.*\S)  \((?P<type>[^()]*)\)$")
_LOCAL = re.compile(r"^local (?P<name>\w+) in (?P<function>\w+)\(\)$")
_NAME = re.compile(r"^\.?(?P<name>[A-Za-z_]\w*)$")
_CACHE = re.compile(r"lru_cache of (?:\w+\.)*(?P<function>\w+)")


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """One line of the program: the file as it is named in the run, the line, the function."""

    file: str
    number: int
    function: str


@dataclass(frozen=True, slots=True)
class Clue:
    """The facts of a finding by which a place in the source is searched; None if unknown.

    Attributes:
        kind: what grows.
        type: qualified name of the type that grows; empty if unknown.
        names: names of the container and of what contains it, the growing one first.
        container: qualified type of the growing container.
        module: the module in which the path to the container begins.
        function: the function whose local variable the path begins at; None for a module's name.
        expression: the container as the module or the function names it, such as ``trainer.seen``.
        cached: name of the function whose ``lru_cache`` is the container.
        lines: the program's lines that made the objects, innermost first.
        per_round: entries that the container gains per generation, at least 1.
        generations: generations of the run; 0 if unknown.
        graphs: True if what is kept keeps autograd graphs.
        views: True if the entries are parts of larger arrays or tensors, which they keep alive.
        chain: True if objects keep one another by an attribute, without a container.
    """

    kind: Kind
    type: str = ""
    names: tuple[str, ...] = ()
    container: str | None = None
    module: str | None = None
    function: str | None = None
    expression: str | None = None
    cached: str | None = None
    lines: tuple[ProgramLine, ...] = ()
    per_round: int = 1
    generations: int = 0
    graphs: bool = False
    views: bool = False
    chain: bool = False

    @property
    def name(self) -> str | None:
        """The name of the growing container; None if it has none."""
        return self.names[0] if self.names else None

    @property
    def short_type(self) -> str:
        """The name of the growing type without its module."""
        return self.type.rpartition(".")[2]


def clue_of(finding: Finding, run: Run) -> Clue:
    """Return what a finding of a run tells about the place to change."""
    hops = [found.groups() for line in finding.path if (found := _HOP.match(line))]
    labels = [label for label, _ in hops]
    kept = max((n for n, label in enumerate(labels) if label.startswith("[*")), default=len(hops))
    steps = labels[:kept]
    local = _LOCAL.match(steps[0]) if steps else None
    cache = _CACHE.search(finding.held_by or "")
    return Clue(
        kind=finding.kind,
        type=finding.type or "",
        names=tuple(_names(steps)) or tuple(_names_in(finding.held_by)),
        container=hops[kept - 1][1] if 0 < kept <= len(hops) else None,
        module=(finding.held_by or "").partition(".")[0] or None,
        function=local["function"] if local else None,
        expression=_expression(steps),
        cached=cache["function"] if cache else None,
        lines=tuple(_lines(finding)),
        per_round=_gained(finding, run),
        generations=run.generation_count,
        graphs=finding.kind == "autograd" or _has_trait(finding, run, "graphs"),
        views=_has_trait(finding, run, "views"),
        chain=_has_trait(finding, run, "chain"),
    )


def _names(steps: list[str]) -> Iterator[str]:
    """Yield the names on a path from its end."""
    for number, label in reversed(list(enumerate(steps))):
        found = _LOCAL.match(label) or (_NAME.match(label) if number else None)
        if found is not None:
            yield found["name"]


def _names_in(held_by: str | None) -> Iterator[str]:
    for part in reversed((held_by or "").split(".")[1:]):
        bare = part.partition("[")[0]
        if bare.isidentifier():
            yield bare


def _expression(steps: list[str]) -> str | None:
    """Return a path of attributes as source; None if it cannot be written in a loop.

    It can if it begins at a local variable or in the script, and no entry or cell lies on it.
    """
    local = _LOCAL.match(steps[0]) if steps else None
    if not steps or (local is None and steps[0] != "__main__"):
        return None
    parts = [local["name"]] if local else []
    for label in steps[1:]:
        found = _NAME.match(label)
        if found is None:
            return None
        parts.append(found["name"])
    return ".".join(parts) or None


def _lines(finding: Finding) -> Iterator[ProgramLine]:
    for text in dict.fromkeys((finding.created_at or "", *finding.created_stack)):
        found = code_line(text)
        if found is not None and found.function:
            yield ProgramLine(found.file, found.line, found.function.rpartition(".")[2])


def _has_trait(finding: Finding, run: Run, trait: str) -> bool:
    holders = (h for s in run.snapshots for h in s.holders if h.path == finding.held_by)
    return any(trait in holder.traits for holder in holders)


def _gained(finding: Finding, run: Run) -> int:
    """Return the entries that the holder gains per generation; objects if it was seen only once."""
    seen = [
        (shot.generation, holder.entries)
        for shot in run.snapshots
        for holder in shot.holders
        if holder.path == finding.held_by and shot.generation is not None
    ]
    rate = finding.count_per_generation or 1
    if len(seen) > 1 and seen[-1][0] > seen[0][0]:
        rate = (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])
    return max(1, ceil(rate))
