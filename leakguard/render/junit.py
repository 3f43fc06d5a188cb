"""The report as JUnit XML: a suite per run, a test case per finding and per cleared suspicion."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from leakguard.model.finding import SEVERITY, Finding, Verdict
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.log_block import leak_block
from leakguard.render.run_facts import run_facts
from leakguard.render.text import clean, clean_lines

if TYPE_CHECKING:
    from leakguard.render import Layout

# Characters that XML 1.0 cannot hold.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return the suites; findings with at least the verdict ``layout.fail_on`` are failures."""
    root = ET.Element("testsuites", name="leakguard")
    for report in reports:
        _add_suite(root, report, layout.fail_on)
    return document(root)


def document(root: ET.Element) -> str:
    """Return the suites as a file, with the totals of their cases."""
    for suite in (root, *root.iter("testsuite")):
        _set_totals(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add_suite(root: ET.Element, report: Report, fail_on: str) -> None:
    suite = ET.SubElement(root, "testsuite", name=legal(outline.title(report)))
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", name="verdict", value=report.verdict)
    for label, value in run_facts(report.run):
        ET.SubElement(properties, "property", name=label.lower(), value=legal(value))
    for finding in report.findings:
        _add_finding(suite, report, finding, fail_on)
    for item in report.cleared:
        case = add_case(suite, f"{outline.subject(item)} is no leak")
        ET.SubElement(case, "system-out").text = legal(f"{item.pattern}: {clean(item.reason)}")
    _add_verdict(suite, report)


def _add_finding(suite: ET.Element, report: Report, finding: Finding, fail_on: str) -> None:
    case = add_case(suite, facts.title(finding), finding.phase)
    text = legal(
        clean_lines(
            leak_block(finding, outline.evidence(report, finding), report.run.info.large_object)
        )
    )
    if SEVERITY[finding.verdict] >= SEVERITY[_threshold(fail_on)]:
        failure = ET.SubElement(case, "failure", type=finding.verdict)
        failure.set("message", legal(f"{facts.heading(finding)}: {facts.title(finding)}"))
        failure.text = text
    else:
        ET.SubElement(case, "system-out").text = text


def _add_verdict(suite: ET.Element, report: Report) -> None:
    if report.findings:
        return
    case = add_case(suite, "memory does not grow without bound")
    if report.verdict == "inconclusive":
        ET.SubElement(case, "skipped", message=legal(outline.verdict_line(report)))
    else:
        ET.SubElement(case, "system-out").text = legal(outline.verdict_line(report))


def add_case(suite: ET.Element, name: str, phase: str | None = None) -> ET.Element:
    """Add a test case to a suite; its class is named after its phase."""
    place = clean(phase) if phase else "run"
    return ET.SubElement(suite, "testcase", classname=legal(f"leakguard.{place}"),
                         name=legal(name), time="0")  # fmt: skip


def _set_totals(element: ET.Element) -> None:
    element.set("tests", str(len(list(element.iter("testcase")))))
    element.set("failures", str(len(list(element.iter("failure")))))
    element.set("errors", "0")
    element.set("skipped", str(len(list(element.iter("skipped")))))


def _threshold(fail_on: str) -> Verdict:
    return "suspect" if fail_on == "suspect" else "leak"


def legal(text: str) -> str:
    """Return ``text`` without the characters that XML cannot contain."""
    return _ILLEGAL.sub("", text)
