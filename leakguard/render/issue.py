"""The block for a bug report: the diagnosis, its snapshot and where it ran, ready to paste."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakguard.model.report import Report
from leakguard.render import outline
from leakguard.render.log_block import leak_block, snapshot_block
from leakguard.render.run_facts import run_facts
from leakguard.render.template import fenced, markdown_text
from leakguard.render.text import clean_lines

if TYPE_CHECKING:
    from leakguard.render import Layout


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return Markdown that stands alone in an issue tracker."""
    return "\n".join(_issue(report) for report in reports)


def _issue(report: Report) -> str:
    facts = "\n".join(f"{label}: {value}" for label, value in run_facts(report.run))
    return (
        f"**{markdown_text(outline.verdict_line(report))}**\n\n"
        f"{fenced(clean_lines(_diagnosis(report)))}\n\n"
        f"Environment\n\n{fenced(facts)}\n"
    )


def _diagnosis(report: Report) -> str:
    if report.findings:
        culprit = report.findings[0]
        return leak_block(culprit, outline.evidence(report, culprit))
    last = report.run.snapshots[-1:]
    return "\n".join([outline.verdict_line(report), *map(snapshot_block, last)])
