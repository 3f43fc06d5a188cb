"""The report as one HTML file without network access, with a few lines of script.

The Content-Security-Policy allows only the style and script with its hashes. All text enters
through a template that escapes it. Charts are SVG in the page; no script draws them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from leakguard.model import Snapshot
from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.charts import count_chart, leak_chart, memory_chart, more_charts
from leakguard.render.explanations import explained
from leakguard.render.issue import finding_text
from leakguard.render.log_block import snapshot_block
from leakguard.render.picture import asset
from leakguard.render.section import Section
from leakguard.render.source import source_lines
from leakguard.render.template import environment
from leakguard.render.text import clean, clean_lines
from leakguard.render.traced_lines import traced_lines

if TYPE_CHECKING:
    from leakguard.render import Layout

_ROWS_IN_PAGE = 150
_PICTOGRAPH = re.compile("[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff]+ ?")


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return one page with all reports; its title has the worst verdict."""
    worst = outline.worst(reports)
    style, script = f"{asset('report.css')}\n{asset('plot.css')}", asset("report.js")
    return environment().get_template("report.html.j2").render(
        title=f"{outline.verdict_line(worst)} – {outline.title(worst)}",
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        overview=outline.overview(reports),
        reports=[_page(report, layout) for report in reports],
    )  # fmt: skip


def _page(report: Report, layout: Layout) -> dict[str, Any]:
    return {
        "verdict": report.verdict,
        "word": outline.VERDICTS[report.verdict],
        "meaning": outline.MEANINGS[report.verdict],
        "headline": outline.headline(report),
        "told": outline.explained(report),
        "died": outline.death(report),
        "run": outline.title(report),
        "findings": [_finding_fields(report, finding, layout) for finding in report.findings],
        "memory": None if report.findings else memory_chart(report),
        "counts": count_chart(report),
        "more": more_charts(report),
        "sections": _sections(report, layout),
    }


def _sections(report: Report, layout: Layout) -> list[Section]:
    folder = None if layout.redact else layout.sources
    more = (outline.large_objects(report.run), traced_lines(report.run, folder))
    return [
        *outline.sections(report, _ROWS_IN_PAGE),
        *(section for section in more if section.rows),
    ]


def _finding_fields(report: Report, finding: Finding, layout: Layout) -> dict[str, Any]:
    snapshot = outline.evidence(report, finding)
    told = facts.leak_facts(finding)
    folder = None if layout.redact else layout.sources
    sites = filter(None, (finding.created_at, *finding.kept_elsewhere))
    return {
        "verdict": finding.verdict,
        "heading": facts.heading(finding),
        "title": facts.title(finding),
        "fix": clean(finding.fix) if finding.fix else None,
        # The memory of the run is drawn once, below the worst finding.
        "chart": leak_chart(report, finding, with_memory=finding is report.findings[0]),
        "explained": [_explained(word) for word in (finding.kind, finding.pattern)],
        "facts": [fact for fact in told if fact.label not in {"Path", "Fix"}],
        "path": next((fact for fact in told if fact.label == "Path"), None),
        "quotes": [(clean(site), source_lines(site, folder)) for site in sites],
        "text": finding_text(report, finding),
        "label": clean(snapshot.label) if snapshot else None,
        "snapshot": _snapshot(report, snapshot) if snapshot else None,
    }


def _snapshot(report: Report, snapshot: Snapshot) -> str:
    """Return a log block without pictographs, which many print fonts lack."""
    return _PICTOGRAPH.sub("", clean_lines(snapshot_block(snapshot, report.run.info.large_object)))


def _explained(word: str) -> tuple[str, Markup]:
    """Return a word and its meaning as HTML; the text comes from this package."""
    from markdown_it import MarkdownIt

    entry = explained(word)
    text = "" if entry is None else MarkdownIt("js-default", {"html": False}).render(entry.text)
    return word, Markup(text)


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
