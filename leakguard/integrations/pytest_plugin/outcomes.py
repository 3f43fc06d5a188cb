"""The outcomes of budgets, as plain values that workers can send, and the texts about them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from leakguard.capture.allocator import allocator_memory
from leakguard.capture.probe import measure
from leakguard.capture.process import process_memory
from leakguard.capture.resources import open_files
from leakguard.integrations.pytest_plugin.judgement import Judgement
from leakguard.integrations.pytest_plugin.older import live_types
from leakguard.model import Report, TypeCount
from leakguard.model.budget import Check
from leakguard.model.units import format_change
from leakguard.render import Layout, document, render
from leakguard.render.checks import render_checks, subject
from leakguard.render.text import clean, wrapped

_FORMATS = {"report.md": "markdown", "report.json": "json", "report.html": "html"}
SCREEN = 72  # columns of a failure: pytest puts up to eight before each of its lines
_PROBES = (("process", process_memory), ("allocator", allocator_memory), ("files", open_files))
_RESOURCES = ("threads", "open_files")
_MOST_TESTS = 10
_BUFFERS = frozenset({"bytearray", "bytes"})
_NOTABLE_TEST_BYTES = 100_000  # any test may leave less than this behind: caches of imports


class Outcome(TypedDict):
    """One budget that was judged.

    ``broken`` names the broken limits, and ``checks`` has (subject, limit, fact, outcome) for each
    limit. ``asked`` and ``done`` are the requested and the actual number of generations. ``folder``
    is None if no report was written.
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


class Left(TypedDict):
    """What exists after a test and did not before; ``bytes`` are those of live objects."""

    test: str
    bytes: int
    resources: dict[str, int]
    types: list[str]


# ---- one budget ----------------------------------------------------------------------------------


def outcome_of(
    name: str, judgement: Judgement, done: int, asked: int, folder: Path | None
) -> Outcome:
    """Return a judgement as plain values; if ``folder`` is given, write the report there."""
    report, checks = judgement.report, judgement.checks
    if folder is not None:
        _write_reports(report, folder, bool(judgement.failed))
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


def failure_text(judgement: Judgement, outcome: Outcome, new: Iterable[str]) -> str:
    """Return the message of a failed test: limits, measurements, finding, fix, and the report.

    pytest's summary shows only the first line. ``new`` are lines about new threads and files.
    """
    broken, checks = outcome["broken"], outcome["checks"]
    drawn = render_checks(judgement.report, judgement.checks, "terminal", Layout(width=SCREEN))
    _, _, *body = drawn.rstrip().split("\n")
    limits = "limit" if len(checks) == 1 else "limits"
    lines = [
        _in_one_line(judgement),
        f"memory budget: {len(broken)} of {len(checks)} {limits} broken, {_rounds(outcome)}",
        *body,
    ]
    lines += ["", *new] if new else []
    if not judgement.report.findings:
        lines += ["", *_grown(judgement.report)]
    lines += ["", _read_on(outcome)]
    first, *more = lines  # the first line is not wrapped, for pytest's summary
    return "\n".join([first, *fitting(more)])


def fitting(lines: Iterable[str], width: int = SCREEN) -> Iterator[str]:
    """Yield the lines wrapped between words to ``width``; a path or a name is not broken."""
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        yield from wrapped(line, width, rest=f"{indent}  ") or [""]


def _in_one_line(judgement: Judgement) -> str:
    """Return one line about the most informative broken limit.

    A limit with a number comes before the diagnosis of the same growth.
    """
    first = min(judgement.failed, key=_is_diagnosis)
    if _is_diagnosis(first):
        return first.fact
    held_by = next((f.held_by for f in judgement.report.findings if f.held_by), None)
    fact = first.fact.partition(" (")[0].partition(" at ")[0]
    said = f"{_short(subject(first))} {fact}, {first.limit}"
    return f"{said}, held by {held_by}" if held_by else said


def _short(limited: str) -> str:
    """Return the subject of a limit, with class names without their modules."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", limited)


def _is_diagnosis(check: Check) -> bool:
    return check.subject == "diagnosis"


def _rounds(outcome: Outcome) -> str:
    more = outcome["done"] - outcome["asked"]
    extra = f" ({outcome['asked']} asked for, {more} more to be sure)" if more else ""
    return f"after {outcome['done']} generations{extra}"


def _read_on(outcome: Outcome) -> str:
    if outcome["folder"] is not None:
        return f"The whole report: {Path(outcome['folder']) / 'report.html'}"
    return "The whole report, with pictures: run pytest with --leakguard-report=DIR"


def _grown(report: Report) -> list[str]:
    """Return a line with the types that gained most bytes; used if there is no finding."""
    ends = [s.census for s in report.run.generation_ends() if s.census is not None]
    if len(ends) < 2:
        return ["What grew is not known: live objects could not be counted here."]
    gained = _gained(ends[0].types, ends[-1].types, most=5)
    return [f"What grew most since the first generation: {', '.join(gained) or 'no Python object'}"]


def _gained(
    before: Mapping[str, TypeCount], after: Mapping[str, TypeCount], most: int
) -> list[str]:
    """Return the types that gained most bytes, largest gain first, as texts."""
    gains = {name: _bytes(after, name) - _bytes(before, name) for name in after}
    largest = sorted(gains, key=lambda name: -gains[name])[:most]
    return [f"{name} {format_change(gains[name])}" for name in largest if gains[name] > 0]


def _bytes(types: Mapping[str, TypeCount], name: str) -> int:
    return (types[name].bytes or 0) if name in types else 0


def _write_reports(report: Report, folder: Path, failed: bool) -> None:
    """Write the reports; the HTML report, about a megabyte, only for a failed test."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, format_ in _FORMATS.items():
        if failed or format_ != "html":
            drawn = document((report,), format_) if format_ == "html" else render(report, format_)
            data = drawn if isinstance(drawn, bytes) else drawn.encode("utf-8", "replace")
            (folder / file).write_bytes(data)


# ---- all of them ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Session:
    """Collects the plain values of all tests, and writes the texts about them once."""

    outcomes: list[Outcome] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    _before: tuple[dict[str, TypeCount], dict[str, int | float]] | None = None
    _is_first: bool = False

    def add(self, outcomes: Iterable[Outcome], left: Left | None) -> None:
        """Add the outcomes of one test, and what it left behind."""
        self.outcomes.extend(outcomes)
        if left is not None:
            self.left.append(left)

    def begin(self) -> None:
        """Measure what exists before the first test."""
        if self._before is None:
            self._before = (live_types(), measure(_PROBES).metrics)
            self._is_first = True

    def left_by(self, test: str) -> Left | None:
        """Return what has been added since the previous test; None if ``begin`` was not called."""
        types, metrics = live_types(), measure(_PROBES).metrics
        before, self._before = self._before, (types, metrics)
        if before is None:
            return None
        left = _left(test, before[0], types, before[1], metrics)
        if self._is_first:  # imports for the first test and the guard do not count
            left["bytes"], self._is_first = _kept_bytes(before[0], types), False
        return left

    def lines(self) -> Iterator[str]:
        """Yield the lines that a terminal shows at the end of the run."""
        if self.outcomes:
            yield _kept(self.outcomes)
        for outcome in self.outcomes:
            if not outcome["broken"] and outcome["verdict"] not in ("stable", "leak"):
                yield f"  {outcome['test']}: kept, {outcome['verdict']}: {outcome['headline']}"
        yield from self._most_left()
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for outcome in self.outcomes:
                yield from outcome["annotations"].splitlines()

    def write(self, folder: Path | None) -> None:
        """Write ``index.md`` and ``outcomes.json`` about all tests."""
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.md").write_text(self._index(folder), encoding="utf-8")
        plain = {"schema": "leakguard.pytest/1", "budgets": self.outcomes, "left": self.left}
        text = json.dumps(plain, indent=1, ensure_ascii=False)
        (folder / "outcomes.json").write_text(f"{text}\n", encoding="utf-8")

    def _most_left(self) -> Iterator[str]:
        much = [one for one in self.left if one["bytes"] >= _NOTABLE_TEST_BYTES or one["resources"]]
        if self.left:
            yield f"leakguard: {len(much)} of {len(self.left)} tests left something behind"
        for one in sorted(much, key=lambda one: -one["bytes"])[:_MOST_TESTS]:
            yield f"  {format_change(one['bytes']):>9}  {one['test']}{_details(one)}"

    def _index(self, folder: Path) -> str:
        lines = ["# Memory budgets", "", _kept(self.outcomes) if self.outcomes else "None.", ""]
        if self.outcomes:
            lines += ["| Test | Outcome | Limit | Measured |", "|---|---|---|---|"]
        for outcome in self.outcomes:
            lines += _rows(outcome, folder)
        return "\n".join([*lines, ""])


def _left(
    test: str,
    before: Mapping[str, TypeCount],
    after: Mapping[str, TypeCount],
    then: Mapping[str, int | float],
    now: Mapping[str, int | float],
) -> Left:
    more = {name: int(now[name] - then[name]) for name in _RESOURCES if {name} <= now.keys() & then}
    whole = sum(_bytes(after, name) for name in after) - sum(_bytes(before, n) for n in before)
    return Left(
        test=test,
        bytes=max(whole, _kept_bytes(before, after)),
        resources={name: count for name, count in more.items() if count > 0},
        types=_gained(before, after, most=3),
    )


def _kept_bytes(before: Mapping[str, TypeCount], after: Mapping[str, TypeCount]) -> int:
    """Return the bytes that classes and buffers gained.

    Types that lost bytes do not reduce the sum, so memory that the test runner frees hides nothing.
    """
    telling = (name for name in after if "." in name or name in _BUFFERS)
    return sum(max(_bytes(after, name) - _bytes(before, name), 0) for name in telling)


def _details(one: Left) -> str:
    resources = [f"{count} {name.replace('_', ' ')}" for name, count in one["resources"].items()]
    parts = [*resources, *one["types"]]
    return f" ({', '.join(parts)})" if parts else ""


def _kept(outcomes: Sequence[Outcome]) -> str:
    broken = sum(bool(outcome["broken"]) for outcome in outcomes)
    longer = sum(not o["broken"] and o["done"] > o["asked"] for o in outcomes)
    took = f" ({longer} took more generations to be sure)" if longer else ""
    budgets = f"{len(outcomes)} memory budget{'' if len(outcomes) == 1 else 's'}"
    if broken:
        return f"leakguard: {broken} of {budgets} broken"
    return f"leakguard: {budgets} kept{took}"


def _rows(outcome: Outcome, folder: Path) -> Iterator[str]:
    name = _cell(outcome["test"])
    if outcome["folder"] is not None:
        place = os.path.relpath(outcome["folder"], folder)
        name = f"[{name}]({Path(place).as_posix()}/report.{'html' if outcome['broken'] else 'md'})"
    for limited, limit, fact, result in outcome["checks"]:
        mark = {"kept": "🟢", "broken": "🔴"}.get(result, "🔵")
        yield f"| {name} | {mark} {_cell(limited)} | {_cell(limit)} | {_cell(fact)} |"


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|").replace("<", "&lt;")
