"""Whatever a log or a foreign program wrote reaches the reader as harmless text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
import report_stories as stories
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown import markdown
from markdown_it import MarkdownIt

from leakguard.model import Cleared
from leakguard.render import TEXT_FORMATS, render
from leakguard.render.text import clean

_EVIL = (
    "[red]x[/red] \x1b[31m\x1b]0;pwned\x07 <script>alert(1)</script> | ` *b* "
    "\r\n::error::no \u202e \x00 \ud800"
)


def poisoned(evil: str = _EVIL):
    report = stories.leaking()
    finding = replace(
        report.findings[0],
        label=evil,
        held_by=evil,
        reason=evil,
        fix=evil,
        path=(evil,),
        type=evil,
        phase=evil,
        created_at=f"{evil}.py:3",
        serial=None,
    )
    run = replace(report.run, info=replace(report.run.info, name=evil, command=evil), notes=(evil,))
    return replace(
        report,
        run=run,
        headline=evil,
        findings=(finding,),
        cleared=(Cleared(evil, "noise", evil),),
        limits=(evil,),
        phase_growth={evil: 1.0},
        trend=tuple(replace(row, label=evil) for row in report.trend),
    )


@pytest.mark.parametrize("name", [n for n in TEXT_FORMATS if n != "svg"])
def test_no_control_character_survives(name):
    text = render(poisoned(), name)
    assert not {c for c in text if (ord(c) < 32 and c not in "\n\t") or c in "\x7f\u202e\ud800"}
    text.encode("utf-8")


def test_terminal_shows_markup_as_text():
    assert "[red]x[/red]" in render(poisoned(), "terminal")


def test_markdown_holds_no_tag_and_no_open_cell():
    text = render(poisoned(), "markdown")
    outside = "".join(text.split("```")[::2])
    assert "<script" not in outside
    row = next(line for line in outside.splitlines() if line.startswith("| \\[red\\]"))
    assert row.replace("\\|", "").count("|") == 4


def test_markdown_fence_cannot_be_closed_from_inside():
    text = render(poisoned("``` \n# owned"), "markdown")
    assert "\n````text\n" in text


@pytest.mark.parametrize("name", ["markdown", "issue"])
@pytest.mark.parametrize("evil", [_EVIL, "<script>", "</pre></details><img src=x>", "` <b>"])
def test_no_dialect_of_markdown_finds_a_tag_in_what_a_log_said(name, evil):
    told = stories.leaking()
    shots = tuple(replace(shot, label=evil, phase=evil) for shot in told.run.snapshots)
    told = replace(told, run=replace(told.run, snapshots=shots))  # a finding's evidence, too
    texts = [render(report, name) for report in (poisoned(evil), told)]
    for convert in (MarkdownIt().enable("table").render, markdown):
        assert not any(re.search("<(script|img|b)\\b", convert(text)) for text in texts)


def test_a_log_cannot_give_workflow_commands():
    lines = render(poisoned(), "github").splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error ")


def test_junit_is_well_formed():
    ET.fromstring(render(poisoned(), "junit"))


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_any_text_gives_valid_json_and_xml(text):
    json.loads(render(poisoned(text), "json"))
    ET.fromstring(render(poisoned(text), "junit"))


@given(st.text())
def test_cleaning_twice_changes_nothing(text):
    assert clean(clean(text)) == clean(text)


def test_numbers_that_json_has_no_word_for_are_null():
    report = replace(stories.leaking(), coverage=float("nan"), phase_growth={"a": float("inf")})
    document = json.loads(render(report, "json"))
    assert document["coverage"] is None
    assert document["phase_growth"] == {"a": None}
