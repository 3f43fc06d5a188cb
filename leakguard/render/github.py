"""The findings as annotations of a GitHub Actions job, one workflow command per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from leakguard.model.finding import SEVERITY, Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.source import place_of

if TYPE_CHECKING:
    from leakguard.render import Layout


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return an annotation for each finding, or a notice with the verdict if there is none."""
    lines = (line for report in reports for line in _annotations(report, layout.fail_on))
    return "".join(f"{line}\n" for line in lines)


def _annotations(report: Report, fail_on: str) -> Iterator[str]:
    for finding in report.findings:
        yield _finding_annotation(finding, fail_on)
    if not report.findings:
        heading = f"leakguard: {outline.title(report)}"
        yield annotation("notice", {"title": heading}, outline.verdict_line(report))


def _finding_annotation(finding: Finding, fail_on: str) -> str:
    failed = SEVERITY[finding.verdict] >= SEVERITY["suspect" if fail_on == "suspect" else "leak"]
    properties = {**place(finding), "title": f"{facts.heading(finding)}: {facts.title(finding)}"}
    return annotation("error" if failed else "warning", properties, _message(finding))


def place(finding: Finding) -> dict[str, str]:
    """Return the file and line for an annotation; empty if they are unknown."""
    found = place_of(finding.created_at)
    return {} if found is None else {"file": found[0], "line": str(found[1])}


def _message(finding: Finding) -> str:
    lines = []
    for fact in facts.leak_facts(finding):
        lines.append(f"{fact.label}: {fact.value}".rstrip())
        lines += [f"  {more}" for more in fact.more]
    return "\n".join(lines)


def annotation(level: str, properties: dict[str, str], message: str) -> str:
    """Return one workflow command; its values can neither end it nor start another command."""
    listed = ",".join(f"{key}={_escape(value, ',:')}" for key, value in properties.items())
    return f"::{level} {listed}::{_escape(message)}"


def _escape(text: str, more: str = "") -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for character in more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
