"""Every text format, compared whole."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
import report_stories as stories
from golden_file import assert_same

from leakguard.model import Cost, Ignored
from leakguard.model.units import format_size_change
from leakguard.render import render, render_many

_SUFFIX = {"terminal": "txt", "markdown": "md", "json": "json", "junit": "xml", "github": "txt",
           "issue": "md"}  # fmt: skip

_FACTS = (
    "Gen 2: After evaluate_population",
    "+7.2 GB per generation (consistent)",
    "TradingEnvironment count increasing: 2 → 18 → 34",
    "Generation 1",
    "Adds 16 TradingEnvironment per generation",
    "__main__.trainer.spent_environments[*]",
    "reference_trainer/rollout.py:88",
)


@pytest.mark.parametrize("name", _SUFFIX)
@pytest.mark.parametrize("story", [stories.leaking, stories.healthy, stories.short])
def test_document_is_word_for_word_the_kept_one(name, story):
    assert_same(render(story(), name), f"{story.__name__}.{name}.{_SUFFIX[name]}")


def test_full_terminal_report_is_word_for_word_the_kept_one():
    text = render(stories.leaking(), "terminal", detail="full")
    assert_same(text, "leaking.terminal-full.txt")


def test_brief_report_is_the_verdict_the_fix_the_holder_and_the_line():
    text = render(stories.leaking(), "terminal", detail="brief")
    assert_same(text, "leaking.terminal-brief.txt")
    assert render(stories.healthy(), "terminal", detail="brief").splitlines()[1:] == [
        "STABLE: nothing grows without bound in 7 generations"
    ]


def test_brief_report_says_who_holds_the_further_findings_and_what_made_them():
    first, second, *_ = stories.leaking().findings
    held = replace(second, held_by="app.pool[*]", created_at="app.py:7 in start", holder_name=None)
    text = render(replace(stories.leaking(), findings=(first, held)), "terminal", detail="brief")

    *_, also = text.split("Also ")
    assert " ".join(also.split()).startswith(
        "suspect: threads: +1 thread per generation in checkpoint, held by app.pool[*], made at "
        "app.py:7 in start"
    )


def test_terminal_says_the_fix_before_the_evidence():
    lines = render(stories.leaking(), "terminal").splitlines()
    places = [
        next(n for n, line in enumerate(lines) if line.startswith(start))
        for start in ("LEAK: ", "Fix: Reuse the two", "LEAK DETECTED:", "- Held by: ")
    ]
    assert places == sorted(places)
    assert sum("Reuse the two environments" in line for line in lines) == 1


@pytest.mark.parametrize("name", ["terminal", "markdown"])
def test_several_reports_begin_with_a_table_of_their_verdicts(name):
    text = render_many([stories.healthy(), stories.leaking()], name, width=120)
    table, rest = text.split("leakguard", 1)
    assert "2 runs" in table and "STABLE" in table and "LEAK" in table
    assert "TradingEnvironment: +7.2 GB per generation in evaluate" in table.replace("\\", "")
    assert "LEAK DETECTED:" in rest


def test_healthy_run_among_several_is_its_verdict_unless_all_is_asked():
    pair = [stories.healthy(), stories.leaking()]
    assert "fills until generation 25" not in render_many(pair, "terminal").split("LEAK: ")[0]
    assert "fills until generation 25" in render_many(pair, "terminal", detail="full")


def test_terminal_leak_block_is_the_published_interface():
    text = render(stories.leaking(), "terminal")
    assert (
        "\nLEAK DETECTED:\n"
        "- Phase: Gen 2: After evaluate_population\n"
        "- Growth: +7.2 GB per generation (consistent)\n"
        "- Object: TradingEnvironment count increasing: 2 → 18 → 34\n"
        "- Started: Generation 1\n"
        "- Pattern: Adds 16 TradingEnvironment per generation\n"
    ) in text


def test_terminal_fits_80_columns_but_for_the_lines_people_grep():
    # Two-column pictographs stand only in the framed block, which is 70 wide.
    wide = [line for line in render(stories.leaking(), "terminal").splitlines() if len(line) > 80]
    assert wide == []


def test_colour_changes_no_word():
    plain = render(stories.leaking(), "terminal")
    coloured = render(stories.leaking(), "terminal", color=True)
    assert "\x1b[" in coloured
    stripped = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [s.rstrip() for s in stripped.splitlines()] == plain.splitlines()


def test_long_trend_keeps_both_ends_and_says_what_it_skipped():
    text = render(stories.long(200), "terminal", detail="full")
    assert "Trainer initialized (baseline)" in text
    assert "… 577 more rows" in text
    assert "Gen 200: After evolve_population" in text


def test_json_of_several_runs_puts_the_gravest_on_top():
    document = json.loads(render_many([stories.healthy(), stories.leaking()], "json"))
    assert document["verdict"] == "leak"
    assert [run["verdict"] for run in document["runs"]] == ["stable", "leak"]


def test_junit_fails_on_a_suspect_only_when_asked():
    def failures(fail_on):
        root = ET.fromstring(render(stories.leaking(), "junit", fail_on=fail_on))
        return [case.get("type") for case in root.iter("failure")]

    assert failures("leak") == ["leak"]
    assert failures("suspect") == ["leak", "suspect"]


@pytest.mark.parametrize("name", ["markdown", "terminal", "issue", "github", "junit"])
def test_every_format_says_the_same_facts(name):
    text = render(stories.leaking(), name, width=200)
    for fact in _FACTS:
        assert fact in text


def test_terminal_tells_the_gravest_findings_whole_and_names_the_rest():
    report = stories.leaking()
    many = tuple(replace(stories.THREADS, fingerprint=str(n), phase=f"phase{n}") for n in range(9))
    text = render(replace(report, findings=(stories.ENV_LEAK, *many)), "terminal")
    assert text.count("LEAK SUSPECTED:") == 4
    assert "5 more (the JSON and HTML reports have all)\n  - suspect: threads: +1 thread" in text
    assert "in phase8" in text


def test_change_that_rounds_to_nothing_has_no_direction():
    assert format_size_change(-3_000, like=5 * 10**9) == "+0.00 GB"
    assert format_size_change(-30_000_000, like=5 * 10**9) == "-0.03 GB"


def test_ledger_that_explains_more_than_the_growth_says_why():
    ledger = replace(stories.LEDGER, parts={**stories.LEDGER.parts, "unexplained": -5_000_000})
    text = render(replace(stories.leaking(), ledger=ledger), "markdown")
    assert "| Not explained | -5.0 MB |" in text
    assert "is negative: some allocated memory is not in RAM" in text


def test_json_without_a_ledger_keeps_its_keys():
    ledger = json.loads(render(stories.short(), "json"))["ledger"]
    assert set(ledger) == set(json.loads(render(stories.leaking(), "json"))["ledger"])
    assert set(ledger.values()) == {None}


@pytest.mark.parametrize("name", ["terminal", "markdown", "html", "json"])
def test_ignored_findings_are_listed_with_the_pattern(name):
    report = replace(stories.healthy(), ignored=(Ignored(stories.ENV_LEAK, "*.Trading*"),))
    text = render(report, name, width=200)
    assert "*.Trading*" in text.replace("\\", "")
    assert "TradingEnvironment" in text


def test_known_leak_names_its_library():
    finding = replace(stories.ENV_LEAK, library="botocore")
    text = render(replace(stories.leaking(), findings=(finding,)), "terminal")
    assert "- Known leak of: botocore" in text


def test_traced_generation_says_how_much_longer_it_took():
    run = stories.leaking().run
    shots = (*run.snapshots[:-1], replace(run.snapshots[-1], cost=Cost(0.1, 3, 2.13)))
    report = replace(stories.leaking(), run=replace(run, snapshots=shots))
    text = render(report, "terminal", width=200, detail="full")
    assert "Traced: generation 3, 2.1 times as long as those before it" in text
