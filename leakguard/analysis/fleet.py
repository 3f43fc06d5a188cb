"""Turns the report of one run into rows of the table of a fleet."""

from __future__ import annotations

import datetime
from dataclasses import replace

from leakguard.model.finding import Finding
from leakguard.model.fleet import Sighting
from leakguard.model.report import Report
from leakguard.model.run import Run
from leakguard.model.units import HOUR

_TOLD = ("leak", "suspect")


def sightings(report: Report, place: str) -> list[Sighting]:
    """Return one row per leak or suspect of a run; for a run without these, a single row.

    ``place`` is the path or URL of the run.
    """
    row = _row(report, place)
    found = [finding for finding in report.findings if finding.verdict in _TOLD]
    return [_with(row, report.run, finding) for finding in found] or [row]


def _row(report: Report, place: str) -> Sighting:
    run, info = report.run, report.run.info
    return Sighting(
        run=place,
        name=info.name,
        job=info.job,
        host=info.host,
        rank=info.rank,
        started=_moment(info.started),
        hours=_hours(run),
        generations=run.generation_count,
        finished=run.finished,
        verdict=report.verdict,
        python=info.python,
    )


def _with(row: Sighting, run: Run, finding: Finding) -> Sighting:
    rate = finding.bytes_per_generation
    leaked = None if rate is None else max(rate, 0.0) * run.generations_until(None)
    return replace(
        row,
        fingerprint=finding.fingerprint,
        certainty=finding.verdict,
        kind=finding.kind,
        type=finding.type,
        held_by=finding.held_by,
        phase=finding.phase,
        line=finding.created_at,
        library=finding.library,
        bytes_per_generation=rate,
        leaked_bytes=leaked,
        damage=None if leaked is None else leaked * row.hours,
        fix=finding.fix,
    )


def _hours(run: Run) -> float:
    seconds = [shot.seconds for shot in run.snapshots if shot.seconds is not None]
    return (max(seconds) - min(seconds)) / HOUR if seconds else 0.0


def _moment(text: str | None) -> datetime.datetime | None:
    """Return a time in UTC without its zone; None if the run has no readable time."""
    try:
        moment = datetime.datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
