"""Finds the line that made the growing objects, if a traced generation agrees with a finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from leakguard.analysis.facts.no_line import NoLine, NotInTrace, TooFewBirths, TooFewCounts
from leakguard.analysis.tolerance import (
    FEWEST_LOOKS,
    MAJORITY,
    OWN_SHARE,
    PLURALITY,
    WENT_ON_SHARE,
    is_about,
    same,
)
from leakguard.analysis.words.unknown import no_line
from leakguard.model import Finding, Run, Site
from leakguard.model.births import Birthplace
from leakguard.model.census import GRAPH_NODE
from leakguard.model.code_line import written

# Kinds of findings whose growth a line of the program makes. If no line is known for such a
# finding, the report gives the reason. A finding of another kind, such as open files or a peak, has
# no line, and the report gives no reason.
_MADE = frozenset(
    {"instances", "container", "tensors", "arrays", "autograd", "native", "memory", "queue"}
)

_GRAPH = ".grad_fn"


def with_origin(run: Run, finding: Finding) -> Finding:
    """Return the finding with its line, or with the reason why none is named."""
    site = next(filter(None, _traced_sites(run, finding)), None)
    if site is None:
        return replace(finding, created_at_unknown=_why_not(run, finding))
    return replace(
        finding,
        created_at=written(site.place, site.function),
        created_stack=site.stack,
        created_at_likely=_lies_elsewhere(site, finding),
    )


def with_birthplace(finding: Finding, place: Birthplace) -> Finding:
    """Return the finding with the line that births name for most of what its holder gained."""
    line = written(str(place.place), place.function)
    return replace(finding, created_at=line, created_stack=place.stack)


def _traced_sites(run: Run, finding: Finding) -> Iterator[Site | None]:
    """Yield the site that each trace suggests for a finding, by each criterion, the surest first.

    The line of objects comes before the line of bytes, even if bytes were traced in a later
    generation. If a trace was cut, its numbers are incomplete, and only objects with the finding's
    holder show their line.
    """
    traced = [s for s in reversed(run.snapshots) if s.sites]
    whole = [_merged(s.sites) for s in traced if not s.cost.cut]
    merged = [_merged(s.sites) for s in traced]
    for told, traces in (
        (_of_objects_there, merged),
        (_of_as_many_objects, whole),
        (_of_bytes, whole),
        (_of_entries, merged),
    ):
        yield from (told(sites, finding) for sites in traces)


def _lies_elsewhere(site: Site, finding: Finding) -> bool:
    """Return whether a line's objects had another holder than the finding's during the trace.

    The finding's holder may receive them later: objects that are replaced in the next generation
    are still held by the population.
    """
    if site.type is None or site.held_by is None or finding.held_by is None:
        return False
    inside, around = finding.held_by.rstrip("[*]"), site.held_by.rstrip("[*]")
    return not (around.startswith(inside) or inside.startswith(around))


def _why_not(run: Run, finding: Finding) -> str | None:
    """Return why no line is named; None for kinds without a line, and for a log or a curve."""
    if finding.kind not in _MADE or finding.verdict not in ("leak", "suspect"):
        return None
    reasons = (s.unavailable.get("created_at") for s in reversed(run.snapshots))
    reason = next(filter(None, reasons), None)
    if reason is not None or run.info.source in ("log", "curve"):
        return reason
    return no_line(_why_untold(run, finding))


def _why_untold(run: Run, finding: Finding) -> NoLine:
    traced = [s for s in run.snapshots if s.was_traced and s.generation]
    if not traced:
        return _why_unborn(run, finding) or _why_untraced(run)
    last = max(traced, key=lambda s: s.generation or 0)
    return NotInTrace(last.generation or 0, last.cost.cut)


def _why_unborn(run: Run, finding: Finding) -> TooFewBirths | None:
    """Return why births name no line; None if they were not recorded."""
    births = next((s.births for s in reversed(run.snapshots) if s.births is not None), None)
    return None if births is None else TooFewBirths(births.interval, finding.held_by is not None)


def _why_untraced(run: Run) -> NoLine:
    """Return why no generation was traced.

    The run does not record whether tracing was switched off, so the reason allows for both.
    """
    if run.info.observer is not None:
        return "observed outside"
    ends = [s for s in run.snapshots if s.moment == "generation"]
    looks = sum(s.census is not None for s in ends[:-1])
    return TooFewCounts(looks, len(ends)) if looks < FEWEST_LOOKS else "ended early"


def _of_objects_there(sites: list[Site], finding: Finding) -> Site | None:
    """Return the line that made objects of the growing type in the finding's holder."""
    rate, made = finding.count_per_generation, _of_its_type(sites, finding)
    if rate is None or not made:
        return None
    graph = finding.kind == "autograd"  # the network makes most tensors of a graph for the graph
    least = 0.0 if graph else OWN_SHARE * rate
    inside = [s for s in made if _within(s.held_by, finding.held_by) and s.count >= least]
    if inside:
        return max(inside, key=lambda site: site.count)
    if graph:
        return None
    behind = [s for s in made if _is_inside(s.held_by, finding.held_by)]
    if sum(site.count for site in behind) >= least > 0:  # the entries are records of the objects
        return max(behind, key=lambda site: site.count)
    return None


def _of_as_many_objects(sites: list[Site], finding: Finding) -> Site | None:
    """Return the line that made about as many objects of the growing type as the finding gains."""
    rate = finding.count_per_generation
    if rate is None or finding.kind == "autograd":
        return None
    as_many = [site for site in _of_its_type(sites, finding) if is_about(site.count, rate)]
    return min(as_many, key=lambda site: abs(site.count - rate), default=None)


def _of_its_type(sites: list[Site], finding: Finding) -> list[Site]:
    return [site for site in sites if site.type is not None and site.type == finding.type]


def _of_bytes(sites: list[Site], finding: Finding) -> Site | None:
    """Return the line whose surviving bytes match the finding's growth, if the line is clear.

    It is clear if the bytes nearly equal the growth, or if no other line matches, or if no line has
    more bytes. Objects that are replaced every generation also survive the traced one, and may have
    far more bytes.
    """
    rate = finding.bytes_per_generation
    if not rate:
        return None
    low, high = MAJORITY * rate, rate / MAJORITY
    traced = sorted((s for s in sites if s.type is None), key=lambda s: -(s.bytes or 0))
    if finding.kind == "autograd":
        # The line that made a backward graph is recognized by its bytes and its number of blocks.
        # Bytes alone are not enough: the line that makes a batch may have as many bytes, but in few
        # blocks. Python's own allocations for a graph are not traced, so the bytes may differ by
        # WENT_ON_SHARE. A node takes more than one block: three or four in two training runs.
        nodes = (finding.count_per_generation if finding.type == GRAPH_NODE else None) or 0.0
        alike = (s for s in traced if s.count > nodes and same(s.bytes or 0, rate, WENT_ON_SHARE))
        return min(alike, key=lambda site: abs((site.bytes or 0) - rate), default=None)
    fits = [site for site in traced if low <= (site.bytes or 0) <= high]
    as_many = [site for site in fits if same(site.bytes or 0, rate, OWN_SHARE)]
    if as_many:  # with several leaks, each has a line of its own
        return min(as_many, key=lambda site: abs((site.bytes or 0) - rate))
    clear = len(fits) == 1 or fits[:1] == traced[:1]
    return fits[0] if fits and clear else None


def _of_entries(sites: list[Site], finding: Finding) -> Site | None:
    """Return the line that made the largest share of the objects inside new entries.

    An environment is recognized by its arrays, a dict by its values, because a trace never sees all
    that an entry keeps. For a graph, the entries themselves are counted as well: the network made
    the tensors inside for the graph, and no trace sees the type of the graph.
    """
    made = Counter[str]()
    is_told = _is_entry if finding.kind == "autograd" else _is_inside
    inside = [site for site in sites if is_told(site.held_by, finding.held_by)]
    for site in inside:
        made[site.place] += site.count
    place, most = next(iter(made.most_common(1)), (None, 0))
    if place is None or most < PLURALITY * made.total():
        return None
    return next(site for site in inside if site.place == place)


def _is_entry(held_by: str | None, container: str | None) -> bool:
    return _is_inside(held_by, container) or _within(held_by, container)


def _is_inside(held_by: str | None, container: str | None) -> bool:
    if held_by is None or container is None or not held_by.startswith(container):
        return False
    rest = held_by.removeprefix(container).strip("[*]")
    return bool(rest) and not rest.startswith(_GRAPH)


def _within(held_by: str | None, container: str | None) -> bool:
    if held_by is None or container is None:
        return False
    # After the container's path, only indexes may follow (``xs[*]``, ``xs[*][*]``). An attribute,
    # as in ``xs[*].model``, leads to objects that the entries use and that other lines made.
    inside = container.rstrip("[*]")
    return held_by.startswith(inside) and not held_by.removeprefix(inside).strip("[*]")


def _merged(sites: Iterable[Site]) -> list[Site]:
    """Sum up the objects of one line, type and holder in one generation, over all call stacks."""
    merged: dict[tuple[str, str | None, str | None], Site] = {}
    for site in sites:
        key = (site.place, site.type, site.held_by)
        known = merged.get(key)
        if known is None:
            merged[key] = site
        else:
            size = None if known.bytes is None else known.bytes + (site.bytes or 0)
            merged[key] = replace(known, count=known.count + site.count, bytes=size)
    return list(merged.values())
