"""The report as one HTML file that needs no network and runs no script but its own.

The Content-Security-Policy lets through what the hashes name and nothing else; all text enters
through a template that escapes it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline, vega
from leakguard.render.chart import Spec, Style, count_chart, ledger_chart, memory_chart
from leakguard.render.curves import Curve, bands, count_curves, memory_curves
from leakguard.render.large_objects import large_objects
from leakguard.render.ledger import ledger_section
from leakguard.render.log_block import leak_block, snapshot_block
from leakguard.render.section import Section
from leakguard.render.template import environment
from leakguard.render.text import clean, clean_lines

if TYPE_CHECKING:
    from leakguard.render import Layout

_TREND_ROWS = 150

PAGE = Style(
    ink="var(--ink)",
    grid="var(--line)",
    alarm="var(--leak)",
    series=tuple(f"var(--series-{i})" for i in range(1, 9)),
    phases=tuple(f"var(--phase-{i})" for i in range(1, 7)),
    width="container",
    live=True,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A line of a chart that a reader can switch on or off; ``color`` is its place in the style."""

    key: str
    title: str
    shown: bool
    color: int | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of the page, drawn by the page's script from the data of the same ``id``."""

    id: str
    title: str
    summary: str
    choices: tuple[Choice, ...] = ()


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return one page with all reports, the gravest verdict in its title."""
    drawn = vega.available()
    charts = [list(_charts(report, place)) if drawn else [] for place, report in enumerate(reports)]
    specs = {chart.id: spec for page in charts for chart, spec in page}
    gravest = outline.worst(reports)
    style, script = _asset("report.css"), _asset("report.js")
    runtime = _script_text(vega.runtime()) if specs else ""
    return environment().get_template("report.html.j2").render(
        title=f"{outline.verdict_line(gravest)} – {outline.title(gravest)}",
        policy=_policy(style, [runtime, script]),
        style=Markup(style),
        runtime=Markup(runtime),
        script=Markup(script),
        data=Markup(_json(specs)),
        drawn=drawn,
        reports=[_page(r, [c for c, _ in page]) for r, page in zip(reports, charts, strict=True)],
    )  # fmt: skip


def _page(report: Report, charts: list[Chart]) -> dict[str, Any]:
    by_key = {section.key: section for section in outline.sections(report, _TREND_ROWS)}
    return {
        "verdict": report.verdict,
        "word": outline.VERDICTS[report.verdict],
        "meaning": outline.MEANINGS[report.verdict],
        "headline": outline.headline(report),
        "run": outline.title(report),
        "findings": [_finding(report, finding) for finding in report.findings],
        "charts": {chart.id.split("-")[0]: chart for chart in charts},
        "sections": _ordered(report, by_key),
    }


def _ordered(report: Report, sections: dict[str, Section]) -> list[Section]:
    large = large_objects(report.run)
    return [*sections.values(), large] if large.rows else list(sections.values())


def _finding(report: Report, finding: Finding) -> dict[str, Any]:
    snapshot = outline.evidence(report, finding)
    told = facts.leak_facts(finding)
    return {
        "verdict": finding.verdict,
        "heading": facts.heading(finding),
        "title": facts.title(finding),
        "fix": clean(finding.fix) if finding.fix else None,
        "facts": [fact for fact in told if fact.label not in {"Path", "Fix"}],
        "path": next((fact for fact in told if fact.label == "Path"), None),
        "block": clean_lines(leak_block(finding)),
        "label": clean(snapshot.label) if snapshot else None,
        "snapshot": clean_lines(snapshot_block(snapshot)) if snapshot else None,
    }


def _charts(report: Report, place: int) -> Iterator[tuple[Chart, Spec]]:
    sizes = memory_curves(report.run)
    memory = memory_chart(report, sizes, PAGE)
    if memory is not None:
        summary = "The background shows the phases." if bands(report.run) else ""
        choices = _choices(sizes, colored=True)
        yield Chart(f"memory-{place}", "Memory over time", summary, choices), memory
    numbers = count_curves(report.run)
    counts = count_chart(report, numbers, PAGE)
    if counts is not None:
        summary = "Live objects, gauges and resources; the dashed line is what was expected."
        choices = _choices(numbers)
        yield Chart(f"counts-{place}", "Counts over time", summary, choices), counts
    ledger = ledger_chart(report, PAGE)
    if ledger is not None:
        summary = "One bar a generation; what grew since the baseline lies above zero."
        yield Chart(f"ledger-{place}", ledger_section(report).title, summary), ledger


def _choices(curves: Sequence[Curve], colored: bool = False) -> tuple[Choice, ...]:
    colors = [place % len(PAGE.series) + 1 if colored else None for place in range(len(curves))]
    return tuple(
        Choice(curve.key, curve.title, curve.shown, color)
        for curve, color in zip(curves, colors, strict=True)
    )


def _policy(style: str, scripts: Sequence[str]) -> str:
    allowed = " ".join(f"'{_digest(script)}'" for script in scripts if script)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _asset(name: str) -> str:
    return files("leakguard.render").joinpath(f"templates/{name}").read_text("utf-8").strip()


def _script_text(script: str) -> str:
    # "</script" would end the element; in a string or regular expression "<\/" means the same.
    # A carriage return would be normalised by the HTML parser and change the hash.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r", "")


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
