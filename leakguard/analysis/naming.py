"""From a row to a finding: what a user reads, in the terms of the user's program."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from leakguard.analysis.case import Case
from leakguard.analysis.evidence import is_confirmed, verdict, witnesses
from leakguard.analysis.facts.fix import Fix, Release, Remedy
from leakguard.analysis.forecast import with_forecast
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.knowledge.known_leaks import known_leak
from leakguard.analysis.origin import with_birthplace, with_origin
from leakguard.analysis.place_in_loop import loose_start, memory_start
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.timeline import count_reader
from leakguard.analysis.tolerance import SEEN_AGAIN, SEEN_ONCE
from leakguard.analysis.words import LISTED
from leakguard.analysis.words.evidence import reason
from leakguard.analysis.words.excluded import excluded
from leakguard.analysis.words.fix import fix, known_fix
from leakguard.analysis.words.remedy import name_of, native_of_line, native_without_line
from leakguard.analysis.words.unknown import NO_HOLDER
from leakguard.model import Finding, Holder, Hop, Proof, Run


def named(case: Case, row: LedgerRow) -> Finding:
    """Return the finding of a row, with origin, library and forecast if they are known."""
    packages = case.run.info.packages
    finding = _with_holder_sought(case.run, _traced(case, row))
    finding = with_library(replace(finding, kept_at=_kept_at(case.run, finding)), packages)
    if finding.library is None and finding.kind == "native":
        finding = _with_native_fix(case.run, finding, row.lead.fix)
    return with_forecast(case, finding)


def _with_native_fix(run: Run, finding: Finding, chosen: Fix | None) -> Finding:
    """Return a finding of native memory with its line in the fix, or with how to find it."""
    if finding.created_at is not None:
        return replace(finding, fix=native_of_line(finding))
    return replace(finding, fix=native_without_line(run)) if chosen == "native" else finding


def _traced(case: Case, row: LedgerRow) -> Finding:
    """Return the finding with the line that made its objects.

    Native memory of the objects is left out while the line is searched, because no line makes it.
    """
    finding = _finding(case, row)
    if row.birth is not None and row.birth.place is not None:
        return with_birthplace(finding, row.birth.place)
    size = finding.bytes_per_generation
    own = size if size is None else size - row.native_rate
    traced = with_origin(case.run, replace(finding, bytes_per_generation=own))
    return replace(traced, bytes_per_generation=size)


# Kinds that usually have a container of the program as their holder.
_KEPT = frozenset({"instances", "container", "tensors", "arrays", "autograd", "tasks", "queue"})


def _with_holder_sought(run: Run, finding: Finding) -> Finding:
    """Return the finding with the reason why no holder is named, if one is expected."""
    grows = finding.verdict in ("leak", "suspect") and finding.kind in _KEPT
    if finding.held_by is not None or not grows or run.info.source in ("log", "curve"):
        return finding
    why = run.unavailable.get("holders")
    if why is None and any(snapshot.holders for snapshot in run.snapshots):
        why = NO_HOLDER
    return replace(finding, held_by_unknown=why)


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
    return replace(finding, library=known.library, fix=known_fix(known))


def fingerprint(*parts: str | None) -> str:
    """Return twelve hex digits that depend only on ``parts``, which must not hold addresses.

    Among a million findings, two share their digits with a probability of 1 in 560.
    """
    text = "\n".join(part or "" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _proof(case: Case, holder: Holder | None) -> Proof | None:
    """Return the latest proof for a holder: what was released when it was emptied in a copy."""
    tried = (proof for shot in reversed(case.run.snapshots) for proof in shot.proofs)
    return next((p for p in tried if holder is not None and p.held_by == holder.path), None)


def _finding(case: Case, row: LedgerRow) -> Finding:
    lead, container = row.lead, row.container
    holder = (container or lead).holder
    since = _since(case, lead, container)
    since = since if row.birth is None else row.birth.began(since)
    evidence = witnesses(case, lead, container, row.phase, since)
    shown = lead.shown or case.shown(row.phase)
    return Finding(
        fingerprint=_fingerprint(row, holder),
        kind=row.kind,
        verdict=verdict(lead, evidence),
        pattern=lead.pattern,
        reason=reason(lead, evidence, [g.name for g in row.beside[:LISTED]]),
        phase=row.phase,
        label=None if shown is None else shown.label,
        serial=None if shown is None else shown.serial,
        started_at=since,
        type=lead.type,
        counts=_counts_by_generation(case, lead, row.phase),
        count_per_generation=_count_rate(lead),
        bytes_per_generation=row.bytes_rate,
        interval=lead.interval,
        retained_bytes=holder.retained_bytes if holder else None,
        held_by=holder.path if holder else None,
        holder_name=name_of(holder),
        path=tuple(hop.line for hop in lead.path or _way(lead, holder)),
        confidence=_confidence(lead, evidence),
        fix=fix(lead.fix or _advice(case, lead, holder)),
        ruled_out=tuple(map(excluded, lead.ruled_out)),
        in_pools=lead.in_pools,
        proof=_proof(case, holder),
    )


def _advice(case: Case, lead: Growth, holder: Holder | None) -> Fix:
    """Return the fix; for builtin objects without a known holder, a special one."""
    looked = any(snapshot.holders for snapshot in case.run.snapshots)
    if looked and holder is None and lead.source == "type" and "." not in lead.name:
        return "unheld"
    if lead.source == "promise" and holder is not None:
        return Release(lead.type or "", holder)
    return Remedy(lead.type or "", holder)


def _way(lead: Growth, holder: Holder | None) -> tuple[Hop, ...]:
    """Return the path from a root to an entry of the holder, and on to the growing object."""
    if holder is None:
        return ()
    reaches = any(hop.type == lead.type for hop in holder.onward[-1:])
    return (*holder.trace, *holder.onward) if reaches else holder.trace


def _fingerprint(row: LedgerRow, holder: Holder | None) -> str:
    """Return the holder's fingerprint if it has one, else one made from the row's names."""
    lead = row.lead
    if lead.source in ("type", "container") and holder is not None and holder.fingerprint:
        return holder.fingerprint
    if row.is_part and row.birth is not None and row.birth.place is not None:
        return fingerprint(lead.source, lead.name, row.phase, row.birth.place.function)
    if lead.source == "metric" or (lead.source == "type" and holder is None):
        return fingerprint(lead.source, lead.name, row.phase)
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
