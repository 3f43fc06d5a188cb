"""A report in a notebook: a few kilobytes of HTML with charts, in the colours of the notebook."""

from __future__ import annotations

from markupsafe import Markup

from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.charts import leak_chart, memory_chart
from leakguard.render.picture import asset
from leakguard.render.template import environment

_FINDINGS = 3


def page(report: Report) -> str:
    """Return the verdict, the fix, the charts and the facts of the worst findings."""
    findings = [
        {
            "title": f"{facts.heading(finding)}: {facts.title(finding)}",
            "verdict": finding.verdict,
            "facts": [f for f in reversed(facts.leak_facts(finding)) if f.label in _TOLD],
            "chart": leak_chart(report, finding, with_memory=finding is report.findings[0]),
        }
        for finding in report.findings[:_FINDINGS]
    ]
    return environment().get_template("notebook.html.j2").render(
        style=Markup(f"{asset('notebook.css')}\n{asset('plot.css')}"),
        word=outline.VERDICTS[report.verdict],
        verdict=report.verdict,
        headline=outline.headline(report),
        findings=findings,
        more=max(len(report.findings) - _FINDINGS, 0),
        memory=None if report.findings else memory_chart(report),
    )  # fmt: skip


_TOLD = ("Fix", "Held by", "Created at", "Kept at", "Started", "Phase")
