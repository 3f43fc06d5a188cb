"""From a defect to a finding: what a user reads, in the terms of the user's program."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from leakguard.analysis.case import Case
from leakguard.analysis.evidence import is_confirmed, verdict, witnesses
from leakguard.analysis.forecast import with_forecast
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.knowledge.known_leaks import known_leak
from leakguard.analysis.origin import with_birthplace, with_origin
from leakguard.analysis.place_in_loop import loose_start, memory_start
from leakguard.analysis.remedy import UNHELD_ADVICE, name_of, native_remedy, release, remedy
from leakguard.analysis.row import Row
from leakguard.analysis.timeline import count_reader
from leakguard.analysis.tolerance import SEEN_AGAIN, SEEN_ONCE
from leakguard.model import Finding, Holder, Hop, Proof, Run
from leakguard.model.census import GRAPH_NODE
from leakguard.model.units import format_change, format_number

# A finding is named after one type (``Row.lead``). This is the most other types that the finding
# also names, because they grow for the same reason. Chosen: three fit on one line.
_COMPANIONS = 3
_WORDS = {
    "threads": ("thread", "threads"),
    "open_files": ("open file", "open files"),
    "children": ("child process", "child processes"),
    GRAPH_NODE: ("node of a backward graph", "nodes of a backward graph"),
}
# Growth below this many objects per generation is reported as "1 more every N generations". Chosen:
# an average of half an object per generation or more is easy to picture.
_SELDOM = 0.5
# Hex digits of a fingerprint (48 bits). Among a million findings, the probability that two share a
# fingerprint is 1 in 560.
_HEX_DIGITS = 12


def named(case: Case, defect: Row) -> Finding:
    """Return the finding of a defect, with origin, library and forecast if they are known."""
    packages = case.run.info.packages
    finding = _with_holder_sought(case.run, _traced(case, defect))
    finding = with_library(replace(finding, kept_at=_kept_at(case.run, finding)), packages)
    if finding.library is None and finding.kind == "native":
        finding = replace(finding, fix=native_remedy(case.run, finding))
    return with_forecast(case, finding)


def _traced(case: Case, defect: Row) -> Finding:
    """Return the finding with the line that made its objects.

    Native memory of the objects is left out while the line is searched, because no line makes it.
    """
    finding = _finding(case, defect)
    if defect.birth is not None and defect.birth.place is not None:
        return with_birthplace(finding, defect.birth.place)
    size = finding.bytes_per_generation
    own = size if size is None else size - defect.native_rate
    traced = with_origin(case.run, replace(finding, bytes_per_generation=own))
    return replace(traced, bytes_per_generation=size)


# Kinds that usually have a container of the program as their holder.
_KEPT = frozenset({"instances", "container", "tensors", "arrays", "autograd", "tasks", "queue"})


def _with_holder_sought(run: Run, finding: Finding) -> Finding:
    """Return the finding with the reason why no holder is named, if one is expected."""
    grows = finding.verdict in ("leak", "suspect") and finding.kind in _KEPT
    if finding.held_by is not None or not grows or run.info.source in ("log", "curve"):
        return finding
    reason = run.unavailable.get("holders")
    if reason is None and any(snapshot.holders for snapshot in run.snapshots):
        reason = "no observed container gained as many"
    return replace(finding, held_by_unknown=reason)


def _kept_at(run: Run, finding: Finding) -> tuple[str, ...]:
    """Return the lines that add to the finding's holder, by the last look that read the source."""
    if finding.held_by is None:
        return ()
    looks = (h for s in reversed(run.snapshots) for h in s.holders if h.path == finding.held_by)
    return next((holder.kept_at for holder in looks if holder.kept_at), ())


def with_library(finding: Finding, packages: Mapping[str, str]) -> Finding:
    """Return the finding with library and fix, if it is a known leak of a library.

    ``packages`` maps libraries that ran to their versions, if these were recorded.
    """
    known = known_leak(finding, packages)
    if known is None:
        return finding
    fix = f"{known.fix.rstrip('.')} (see {known.source})"
    return replace(finding, library=known.library, fix=fix)


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


def fingerprint(*parts: str | None) -> str:
    """Return twelve hex digits that depend only on ``parts``, which must not hold addresses."""
    text = "\n".join(part or "" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS]


def _proof(case: Case, holder: Holder | None) -> Proof | None:
    """Return the latest proof for a holder: what was released when it was emptied in a copy."""
    tried = (proof for shot in reversed(case.run.snapshots) for proof in shot.proofs)
    return next((p for p in tried if holder is not None and p.held_by == holder.path), None)


def _finding(case: Case, defect: Row) -> Finding:
    lead, container = defect.lead, defect.container
    holder = (container or lead).holder
    since = _since(case, lead, container)
    since = since if defect.birth is None else defect.birth.began(since)
    evidence = witnesses(case, lead, container, defect.phase, since)
    shown = lead.shown or case.shown(defect.phase)
    return Finding(
        fingerprint=_fingerprint(defect, holder),
        kind=defect.kind,
        verdict=verdict(lead, evidence),
        pattern=lead.pattern,
        reason=_confidence_reason(defect, evidence),
        phase=defect.phase,
        label=None if shown is None else shown.label,
        serial=None if shown is None else shown.serial,
        started_at=since,
        type=lead.type,
        counts=_counts_by_generation(case, lead, defect.phase),
        count_per_generation=_count_rate(lead),
        bytes_per_generation=defect.bytes_rate,
        interval=lead.interval,
        retained_bytes=holder.retained_bytes if holder else None,
        held_by=holder.path if holder else None,
        holder_name=name_of(holder),
        path=tuple(hop.line for hop in lead.path or _way(lead, holder)),
        confidence=_confidence(lead, evidence),
        fix=lead.fix or _advice(case, lead, holder),
        ruled_out=lead.ruled_out,
        in_pools=lead.in_pools,
        proof=_proof(case, holder),
    )


def _advice(case: Case, lead: Growth, holder: Holder | None) -> str:
    """Return the fix; for builtin objects without a known holder, a special one."""
    looked = any(snapshot.holders for snapshot in case.run.snapshots)
    if looked and holder is None and lead.source == "type" and "." not in lead.name:
        return UNHELD_ADVICE
    if lead.source == "promise" and holder is not None:
        return release(lead.type or "", holder)
    return remedy(lead.type or "", holder)


def _way(lead: Growth, holder: Holder | None) -> tuple[Hop, ...]:
    """Return the path from a root to an entry of the holder, and on to the growing object."""
    if holder is None:
        return ()
    reaches = any(hop.type == lead.type for hop in holder.onward[-1:])
    return (*holder.trace, *holder.onward) if reaches else holder.trace


def _fingerprint(defect: Row, holder: Holder | None) -> str:
    """Return the holder's fingerprint if it has one, else one made from the defect's names."""
    lead = defect.lead
    if lead.source in ("type", "container") and holder is not None and holder.fingerprint:
        return holder.fingerprint
    if lead.source == "metric" or (lead.source == "type" and holder is None):
        return fingerprint(lead.source, lead.name, defect.phase)
    place = holder.path if holder is not None and lead.source in ("type", "copies") else None
    return fingerprint(lead.source, lead.type, lead.name, place)


def _since(case: Case, lead: Growth, container: Growth | None) -> int | None:
    """Return the generation in which the growth began.

    Saved tensors of a backward graph are counted only from the first look on, so the start of
    live memory's growth is used if it is earlier.
    """
    if lead.source == "container":
        return loose_start(case, lead)
    if container is None or not container.keeps_graphs:
        return lead.since
    return min((g for g in (lead.since, memory_start(case)) if g is not None), default=None)


def _confidence_reason(defect: Row, evidence: list[Evidence]) -> str:
    lead = defect.lead
    if lead.reason is not None:
        return lead.reason
    told = ("; " if lead.source == "type" else ", and ").join(one.told for one in evidence)
    companions = [growing.name for growing in defect.beside[:_COMPANIONS]]
    if not companions:
        return told
    return f"{told}; also growing: {', '.join(companions)}"


def _confidence(lead: Growth, evidence: list[Evidence]) -> float | None:
    if lead.source == "container":
        return SEEN_AGAIN if is_confirmed(evidence) else SEEN_ONCE
    return lead.confidence


def _count_rate(lead: Growth) -> float | None:
    """Return objects per generation; None for a buffer, and for memory reported in bytes."""
    return None if lead.unit == "bytes" or lead.is_buffer else lead.rate


def _counts_by_generation(case: Case, lead: Growth, phase: str | None) -> tuple[int, ...]:
    """Return the count at the baseline and at the end of the phase in each generation.

    If the phase was not counted in a generation, use the count at the generation's end.
    """
    if lead.source != "type" or lead.counts or lead.judged is None:
        return lead.counts
    ends = lead.judged.series
    series = case.timeline.series(lead.name, count_reader(lead.name), phase)
    counts = ends.by_generation | series.by_generation
    baseline = ends.baseline if series.baseline is None else series.baseline
    first = () if baseline is None else (int(baseline),)
    return (*first, *(int(counts[generation]) for generation in sorted(counts)))
