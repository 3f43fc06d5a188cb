"""Findings in SARIF 2.1.0, for code review tools: one rule per kind, one SARIF run per report.

The specification is OASIS's "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from leakguard.model.finding import SEVERITY, Finding, Ignored
from leakguard.model.known_leak import Audit, Exposure
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.explanations import explained
from leakguard.render.json_report import Json, finite_json
from leakguard.render.source import place_of
from leakguard.render.text import clean

if TYPE_CHECKING:
    from leakguard.render import Layout

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_FRAMES = 5  # frames of the stack that made what leaks; more do not help to review a line


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return a log with a SARIF run for each report; findings ignored on request are suppressed."""
    return _log(_report_run(report, layout) for report in reports)


def render_audits(audits: Sequence[Audit]) -> str:
    """Return a log with a SARIF run for each audit of an environment or a lock file."""
    return _log(map(_audit_run, audits))


def _log(runs: Iterable[Json]) -> str:
    return finite_json({"$schema": SCHEMA, "version": "2.1.0", "runs": list(runs)})


def _log_run(name: str, rules: Sequence[Json], results: Sequence[Json]) -> Json:
    from leakguard import __version__

    driver = {"name": "leakguard", "version": __version__, "rules": list(rules)}
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"leakguard/{clean(name)}/"},
        "columnKind": "unicodeCodePoints",
        "results": list(results),
    }


# -- reports ---------------------------------------------------------------------------------------


def _report_run(report: Report, layout: Layout) -> Json:
    told = [*report.findings, *(item.finding for item in report.ignored)]
    kinds = list(dict.fromkeys(finding.kind for finding in told))
    places = _Places(layout.sources)
    results = [_result(finding, kinds, places, layout.fail_on) for finding in report.findings]
    results += [_suppressed(item, kinds, places, layout.fail_on) for item in report.ignored]
    return _log_run(outline.title(report), [_kind_rule(kind) for kind in kinds], results)


def _kind_rule(kind: str) -> Json:
    entry = explained(kind)
    text = kind if entry is None else entry.text
    first = text.partition("\n\n")[0].replace("\n", " ")
    return {
        "id": f"leakguard/{kind}",
        "shortDescription": {"text": first},
        "help": {"text": text, "markdown": text},
    }


def _result(finding: Finding, kinds: Sequence[str], places: _Places, fail_on: str) -> Json:
    lines = [*filter(None, [places.made(finding)]), *places.kept(finding)]
    holder = _holder_place(finding)
    related = [holder] if lines and holder else []
    related += [*lines[1:], *places.frames(finding)]
    return {
        "ruleId": f"leakguard/{finding.kind}",
        "ruleIndex": kinds.index(finding.kind),
        "level": _level(finding, fail_on),
        "message": {"text": _message(finding)},
        "locations": lines[:1] or [place for place in (holder,) if place],
        "relatedLocations": related,
        "partialFingerprints": _fingerprints(finding.fingerprint),
        "properties": _properties(finding),
    }


def _suppressed(item: Ignored, kinds: Sequence[str], places: _Places, fail_on: str) -> Json:
    reason = clean(item.reason or f"ignored by the pattern {item.pattern}")
    suppression = {"kind": "external", "status": "accepted", "justification": reason}
    return {**_result(item.finding, kinds, places, fail_on), "suppressions": [suppression]}


def _level(finding: Finding, fail_on: str) -> str:
    failed = SEVERITY["suspect" if fail_on == "suspect" else "leak"]
    if SEVERITY[finding.verdict] >= failed:
        return "error"
    return "warning" if finding.verdict == "suspect" else "note"


def _message(finding: Finding) -> str:
    said = [f"{facts.heading(finding)}: {facts.title(finding)}."]
    said += [f"Held by {clean(finding.holder_name or finding.held_by)}."] if finding.held_by else []
    said += [f"Fix: {clean(finding.fix)}"] if finding.fix else []
    return " ".join(said)


def _fingerprints(fingerprint: str) -> dict[str, str]:
    """Return the identity of a result: it depends on the holder and not on a line.

    GitHub compares ``primaryLocationLineHash``; without it, GitHub computes one from the line's
    text.
    """
    return {"leakguard/v1": fingerprint, "primaryLocationLineHash": f"{fingerprint}:1"}


def _properties(finding: Finding) -> Json:
    known = {
        "verdict": finding.verdict,
        "phase": finding.phase,
        "type": finding.type,
        "heldBy": finding.held_by,
        "bytesPerGeneration": finding.bytes_per_generation,
        "countPerGeneration": finding.count_per_generation,
        "library": finding.library,
    }
    return {name: value for name, value in known.items() if value is not None}


def _holder_place(finding: Finding) -> Json | None:
    """Return the holder as a logical location: it is in memory, so no source line is known."""
    if finding.held_by is None:
        return None
    name = clean(finding.held_by)
    return {
        "logicalLocations": [{"fullyQualifiedName": name, "kind": "variable"}],
        "message": {"text": f"kept by {name}"},
    }


class _Places:
    """Lines of source files, with paths relative to the root of the checkout if they are in it."""

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def made(self, finding: Finding) -> Json | None:
        """Return the line that makes what leaks; None if it is unknown."""
        likely = "likely " if finding.created_at_likely else ""
        return self._line(finding.created_at, f"{likely}made here")

    def kept(self, finding: Finding) -> Iterator[Json]:
        """Yield the lines that add to the holder, unless they make the objects as well."""
        yield from filter(None, (self._line(at, "kept here") for at in finding.kept_elsewhere))

    def frames(self, finding: Finding) -> Iterator[Json]:
        """Yield the lines of the calls that led there, the innermost first."""
        others = [site for site in finding.created_stack if site != finding.created_at]
        for site in others[:_FRAMES]:
            line = self._line(site, f"on the way: {clean(site)}")
            if line is not None:
                yield line

    def _line(self, site: str | None, message: str) -> Json | None:
        found = place_of(site)
        if found is None or found[0].startswith("<"):  # code without a file
            return None
        physical = {
            "artifactLocation": file_location(found[0], self._root),
            "region": {"startLine": max(found[1], 1)},
        }
        return {"physicalLocation": physical, "message": {"text": message}}


def file_location(name: str, root: Path | None) -> Json:
    """Return the location of a file: relative to the root of the checkout, or its whole path."""
    path = PurePosixPath(name)
    if root is not None and path.is_relative_to(root.as_posix()):
        path = path.relative_to(root.as_posix())
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": "%SRCROOT%"}


# -- audits ----------------------------------------------------------------------------------------


def _audit_run(audit: Audit) -> Json:
    leaks = list(dict.fromkeys(exposure.leak for exposure in audit.exposures))
    rules = [
        {
            "id": leak.id,
            "shortDescription": {"text": clean(f"{leak.library} leaks by {leak.trigger}")},
            "help": {"text": clean(leak.fix)},
            "helpUri": leak.source,
        }
        for leak in leaks
    ]
    results = [
        _exposed(audit, exposure, leaks.index(exposure.leak)) for exposure in audit.exposures
    ]
    return _log_run(audit.place, rules, results)


def _exposed(audit: Audit, exposure: Exposure, rule: int) -> Json:
    package, leak = exposure.package, exposure.leak
    said = f"{package.name} {package.version} leaks by {leak.trigger}. {leak.fix}"
    return {
        "ruleId": leak.id,
        "ruleIndex": rule,
        "level": "warning",
        "message": {"text": clean(said)},
        "locations": [_pinned(audit.place, package.line)] if audit.is_file else [],
        "partialFingerprints": _fingerprints(f"{leak.id}/{package.name}"),
    }


def _pinned(file: str, line: int | None) -> Json:
    physical: Json = {"artifactLocation": file_location(file, Path.cwd())}
    if line is not None:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}
