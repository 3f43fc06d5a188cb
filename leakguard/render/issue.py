"""The text for a bug report: the diagnosis, its snapshot and the environment, ready to paste."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.log_block import leak_block, snapshot_block
from leakguard.render.run_facts import run_facts
from leakguard.render.template import fenced, markdown_text
from leakguard.render.text import clean_lines

if TYPE_CHECKING:
    from leakguard.render import Layout


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return Markdown that is complete by itself in an issue tracker."""
    return "\n".join(map(_issue, reports))


def finding_text(report: Report, finding: Finding) -> str:
    """Return one finding as Markdown for an issue: its facts, and the environment."""
    return _document(
        f"{facts.heading(finding)}: {facts.title(finding)}", leak_block(finding, None), report
    )


def _issue(report: Report) -> str:
    return _document(outline.verdict_line(report), _diagnosis(report), report)


def _document(title: str, diagnosis: str, report: Report) -> str:
    told = "\n".join(f"{label}: {value}" for label, value in run_facts(report.run))
    return (
        f"**{markdown_text(title)}**\n\n"
        f"{fenced(clean_lines(diagnosis))}\n\n"
        f"Environment\n\n{fenced(told)}\n"
    )


def _diagnosis(report: Report) -> str:
    if report.findings:
        culprit = report.findings[0]
        return leak_block(culprit, outline.evidence(report, culprit), report.run.info.large_object)
    last = report.run.snapshots[-1:]
    return "\n".join(
        [
            outline.verdict_line(report),
            *(snapshot_block(shot, report.run.info.large_object) for shot in last),
        ]
    )
