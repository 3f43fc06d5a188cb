"""Budget checks for people and for programs, in the formats of CI jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from xml.etree import ElementTree as ET

from leakguard.errors import UsageError
from leakguard.model.budget import Check
from leakguard.model.report import Report
from leakguard.render import Layout, outline
from leakguard.render.github import annotation, place
from leakguard.render.json_report import fields, finding_value, finite_json
from leakguard.render.junit import add_case, document, legal
from leakguard.render.log_block import leak_block
from leakguard.render.page import Page
from leakguard.render.section import Section
from leakguard.render.text import clean, clean_lines

_WORDS = {"kept": "ok", "broken": "FAILED", "unknown": "not measured"}


def render_checks(report: Report, checks: Sequence[Check], format: str, layout: Layout) -> str:  # noqa: A002
    """Return the checks of one run laid out in ``format``.

    Raises:
        UsageError: the format is unknown; the message names the choices.
    """
    if format not in CHECK_FORMATS:
        raise UsageError(f"unknown format {format!r}; choose one of {', '.join(CHECK_FORMATS)}")
    return CHECK_FORMATS[format](report, checks, layout)


def verdict_line(checks: Sequence[Check]) -> str:
    """Return on one line how many limits are broken."""
    broken = sum(check.outcome == "broken" for check in checks)
    unknown = sum(check.outcome == "unknown" for check in checks)
    shown = f"{broken or len(checks) - unknown} of {len(checks)}"
    rest = f", {unknown} not measured" if unknown else ""
    return (
        f"FAILED: {shown} limits broken{rest}" if broken else f"PASSED: {shown} limits kept{rest}"
    )


def checks_section(checks: Sequence[Check]) -> Section:
    """Return the checks as a table, in the order of the budget."""
    rows = tuple(
        (subject(check), clean(check.limit), clean(check.fact), _WORDS[check.outcome])
        for check in checks
    )
    columns = ("What", "Limit", "Measured", "Outcome")
    return Section("checks", "Budget", columns, rows, texts=frozenset({1, 2, 3}))


def subject(check: Check) -> str:
    """Return the limited quantity, preceded by the phase if the limit is about a phase."""
    return f"{clean(check.phase)}: {check.subject}" if check.phase else clean(check.subject)


def _terminal(report: Report, checks: Sequence[Check], layout: Layout) -> str:
    page = Page(layout.width, layout.color)
    failed = any(check.outcome == "broken" for check in checks)
    page.line(f"leakguard check: {outline.title(report)}", "dim")
    page.line(verdict_line(checks), "bold red" if failed else "bold green")
    page.line()
    for check in checks:
        text = f"{_WORDS[check.outcome]:<12}  {subject(check)}: {_measured(check)}"
        page.prose(text, "red" if check.outcome == "broken" else "", hang=14)
    for block in _culprits(checks):
        page.line()
        page.lines(block)
    return page.text()


def _markdown(report: Report, checks: Sequence[Check], layout: Layout) -> str:
    from leakguard.render.template import environment

    return environment().get_template("checks.md.j2").render(
        mark="🔴" if any(c.outcome == "broken" for c in checks) else "🟢",
        verdict=verdict_line(checks), run=outline.title(report), section=checks_section(checks),
        culprits=list(_culprits(checks)),
    )  # fmt: skip


def _json(report: Report, checks: Sequence[Check], layout: Layout) -> str:
    return finite_json({
        "schema": "leakguard.check/1",
        "passed": not any(check.outcome == "broken" for check in checks),
        "run": report.run.info.name,
        "verdict": report.verdict,
        "checks": [
            {
                **fields(check, "subject phase outcome limit fact allowed measured"),
                "culprit": finding_value(check.culprit) if check.culprit else None,
            }
            for check in checks
        ],
    })  # fmt: skip


def _junit(report: Report, checks: Sequence[Check], layout: Layout) -> str:
    root = ET.Element("testsuites", name="leakguard check")
    suite = ET.SubElement(root, "testsuite", name=legal(outline.title(report)))
    for check in checks:
        case = add_case(suite, subject(check), check.phase)
        text = _measured(check)
        if check.outcome == "broken":
            failure = ET.SubElement(case, "failure", type="budget", message=legal(text))
            failure.text = legal("\n\n".join([text, *_culprits([check])]))
        elif check.outcome == "unknown":
            ET.SubElement(case, "skipped", message=legal(text))
    return document(root)


def _github(report: Report, checks: Sequence[Check], layout: Layout) -> str:
    lines = []
    told: set[str] = set()
    for check in checks:
        if check.outcome == "kept":
            continue
        level = "error" if check.outcome == "broken" else "warning"
        at = place(check.culprit) if check.culprit else {}
        new = [check] if check.culprit and check.culprit.fingerprint not in told else []
        told.update(c.culprit.fingerprint for c in new if c.culprit)
        message = "\n".join([_measured(check), *_culprits(new)])
        lines.append(
            annotation(level, {**at, "title": f"Memory budget: {subject(check)}"}, message)
        )
    lines = lines or [annotation("notice", {"title": "Memory budget"}, verdict_line(checks))]
    return "".join(f"{line}\n" for line in lines)


def _measured(check: Check) -> str:
    return f"{clean(check.fact)}; limit: {clean(check.limit)}"


def _culprits(checks: Sequence[Check]) -> Iterator[str]:
    """Yield the diagnoses behind broken limits, each once."""
    culprits = {c.culprit.fingerprint: c.culprit for c in checks if c.culprit is not None}
    return (clean_lines(leak_block(finding)) for finding in culprits.values())


CHECK_FORMATS: dict[str, Callable[[Report, Sequence[Check], Layout], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _json,
    "junit": _junit,
    "github": _github,
}
