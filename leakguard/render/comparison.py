"""Renders the comparison of two runs as text, Markdown, JSON and a comment on a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from leakguard.errors import UsageError
from leakguard.model.comparison import Comparison
from leakguard.model.finding import SEVERITY, Finding
from leakguard.render import Layout, outline
from leakguard.render.comparison_sections import sections
from leakguard.render.json_report import fields, finding_value, finite_json
from leakguard.render.log_block import leak_block
from leakguard.render.page import Page
from leakguard.render.text import clean_lines

_MEASURE = "name unit before after"  # the fields of a number in the JSON document


def render_comparison(comparison: Comparison, format: str, layout: Layout) -> str:  # noqa: A002
    """Return the comparison laid out in ``format``.

    Raises:
        UsageError: the format is unknown; the message names the choices.
    """
    if format not in COMPARISON_FORMATS:
        raise UsageError(
            f"unknown format {format!r}; choose one of {', '.join(COMPARISON_FORMATS)}"
        )
    return COMPARISON_FORMATS[format](comparison, layout)


def headline(comparison: Comparison) -> str:
    """Return the difference in one sentence: ``WORSE: 1 new finding; leak, was stable``."""
    before, after = comparison.before.verdict, comparison.after.verdict
    worse = SEVERITY[after] - SEVERITY[before] or len(comparison.new) - len(comparison.gone)
    word = "WORSE" if worse > 0 else "BETTER" if worse < 0 else "SAME"
    verdict = after if before == after else f"{after}, was {before}"
    counts = [
        f"{len(found)} {what}"
        for found, what in (
            (comparison.new, "new"),
            (comparison.gone, "gone"),
            (comparison.stayed, "in both"),
        )
        if found
    ]
    findings = f"; findings: {', '.join(counts)}" if counts else "; no findings"
    return f"{word}: {verdict}{findings}"


def _terminal(comparison: Comparison, layout: Layout) -> str:
    page = Page(layout.width, layout.color)
    page.line(f"leakguard diff: {_titles(comparison)}", "dim")
    page.prose(headline(comparison), "bold")
    for block in _blocks(comparison.new):
        page.line()
        page.line("New in the second run", "bold")
        page.lines(block)
    for section in sections(comparison):
        page.section(section)
    return page.text()


def _markdown(comparison: Comparison, layout: Layout) -> str:
    from leakguard.render.template import environment

    template = environment().get_template("comparison.md.j2")
    return template.render(
        headline=headline(comparison),
        names=_titles(comparison),
        blocks=list(_blocks(comparison.new)),
        sections=list(sections(comparison)),
    )


def _json(comparison: Comparison, layout: Layout) -> str:
    return finite_json({
        "schema": "leakguard.diff/1",
        "before": {"name": comparison.before.run.info.name, "verdict": comparison.before.verdict},
        "after": {"name": comparison.after.run.info.name, "verdict": comparison.after.verdict},
        "new": [finding_value(finding) for finding in comparison.new],
        "gone": [finding_value(finding) for finding in comparison.gone],
        "stayed": [
            {"before": finding_value(old), "after": finding_value(now)}
            for old, now in comparison.stayed
        ],
        "measures": [fields(m, _MEASURE) for m in comparison.measures],
        "phases": [fields(m, _MEASURE) for m in comparison.phases],
        "counts": [fields(m, _MEASURE) for m in comparison.counts],
    })  # fmt: skip


def _titles(comparison: Comparison) -> str:
    return f"{outline.title(comparison.before)} → {outline.title(comparison.after)}"


def _blocks(findings: Sequence[Finding]) -> Iterator[str]:
    return (clean_lines(leak_block(finding)) for finding in findings)


def _comment(comparison: Comparison, layout: Layout) -> str:
    from leakguard.render.review_comment import render

    return render(comparison, layout)


COMPARISON_FORMATS: dict[str, Callable[[Comparison, Layout], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _json,
    "comment": _comment,
}
