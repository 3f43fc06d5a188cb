"""What came of a budget, in plain values, which cross from the workers of pytest-xdist."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict

from leakguard.integrations.pytest_plugin.judgement import Judgement
from leakguard.model import Report
from leakguard.model.units import format_change
from leakguard.render import Layout, document, render
from leakguard.render.checks import render_checks, subject

_FORMATS = {"report.md": "markdown", "report.json": "json", "report.html": "html"}
_WIDTH = 96
_MOST_TYPES = 5


class Outcome(TypedDict):
    """One budget that was judged.

    ``broken`` names the limits; ``checks`` holds (subject, limit, fact, outcome); ``asked`` and
    ``done`` count generations; ``folder`` is None when nothing was written.
    """

    test: str
    verdict: str
    headline: str
    asked: int
    done: int
    broken: list[str]
    checks: list[list[str]]
    annotations: str
    folder: str | None


def outcome_of(
    name: str, judgement: Judgement, done: int, asked: int, folder: Path | None
) -> Outcome:
    """Reduce a judgement to plain values, and write its report where there is a folder for it."""
    report, checks = judgement.report, judgement.checks
    if folder is not None:
        _write(report, folder, bool(judgement.failed))
    failed = bool(judgement.failed)
    return Outcome(
        test=name,
        verdict=report.verdict,
        headline=report.headline,
        asked=asked,
        done=done,
        broken=[subject(check) for check in judgement.failed],
        checks=[[subject(c), c.limit, c.fact, c.outcome] for c in checks],
        annotations=render_checks(report, checks, "github", Layout()) if failed else "",
        folder=None if folder is None else os.fspath(folder),
    )


def failure_text(judgement: Judgement, outcome: Outcome) -> str:
    """Return what a stranger needs: limits, facts, culprit, holder, fix, and where to read on."""
    broken, checks = outcome["broken"], outcome["checks"]
    drawn = render_checks(judgement.report, judgement.checks, "terminal", Layout(width=_WIDTH))
    _, _, *body = drawn.rstrip().split("\n")
    limits = "limit" if len(checks) == 1 else "limits"
    lines = [f"memory budget: {len(broken)} of {len(checks)} {limits} broken, {_rounds(outcome)}"]
    lines += body
    if not judgement.report.findings:
        lines += ["", *_grown(judgement.report)]
    lines += ["", _read_on(outcome)]
    return "\n".join(lines)


def _rounds(outcome: Outcome) -> str:
    more = outcome["done"] - outcome["asked"]
    extra = f" ({outcome['asked']} asked for, {more} more to be sure)" if more else ""
    return f"after {outcome['done']} generations{extra}"


def _read_on(outcome: Outcome) -> str:
    if outcome["folder"] is not None:
        return f"The whole report: {Path(outcome['folder']) / 'report.html'}"
    return "The whole report, with pictures: run pytest with --leakguard-report=DIR"


def _grown(report: Report) -> list[str]:
    """Return the types that gained most bytes, for growth that no finding explains."""
    ends = [s.census for s in report.run.generation_ends() if s.census is not None]
    if len(ends) < 2:
        return ["What grew is not known: live objects could not be counted here."]
    before, after = ends[0].types, ends[-1].types
    gained = {
        name: (entry.bytes or 0) - (before[name].bytes or 0 if name in before else 0)
        for name, entry in after.items()
    }
    largest = sorted(gained, key=lambda name: -gained[name])[:_MOST_TYPES]
    shown = [f"{name} {format_change(gained[name])}" for name in largest if gained[name] > 0]
    return [f"What grew most since the first generation: {', '.join(shown) or 'no Python object'}"]


def _write(report: Report, folder: Path, failed: bool) -> None:
    """Write the reports; the page with its charts is a megabyte, so only where it is needed."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, format_ in _FORMATS.items():
        if failed or format_ != "html":
            drawn = document((report,), format_) if format_ == "html" else render(report, format_)
            data = drawn if isinstance(drawn, bytes) else drawn.encode("utf-8", "replace")
            (folder / file).write_bytes(data)
