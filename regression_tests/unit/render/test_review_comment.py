"""The comment on a pull request: what the change adds, in its first line."""

from __future__ import annotations

from dataclasses import replace

import report_stories as stories

from leakguard.analysis.comparison import compare
from leakguard.render import Layout
from leakguard.render.comparison import render_comparison
from leakguard.render.review_comment import MARKER


def comment(before, after):
    run = replace(before.run, info=replace(before.run.info, name="runs/main.jsonl"))
    comparison = compare(replace(before, run=run), after)
    return render_comparison(comparison, "comment", Layout())


def first_line(before, after):
    return comment(before, after).splitlines()[1]


def test_new_leak_is_said_with_its_size_its_holder_and_who_has_it_not():
    assert first_line(stories.healthy(), stories.leaking()) == (
        "### 🔴 This change adds 7.2 GB per generation, held by "
        "`__main__.trainer.spent_environments[*]`; `main` does not"
    )


def test_comment_says_where_it_is_kept_beside_where_it_is_made():
    leaking = stories.leaking()
    first, *rest = leaking.findings
    kept = replace(first, kept_at=("reference_trainer/trainer.py:152 in evaluate",))
    text = comment(stories.healthy(), replace(leaking, findings=(kept, *rest)))
    assert "rollout.py:88" in text
    assert ", kept at reference_trainer/trainer.py:152 in evaluate" in text


def test_comment_says_the_fix_before_the_numbers_and_begins_with_its_mark():
    text = comment(stories.healthy(), stories.leaking())
    assert text.startswith(MARKER)
    assert text.index("Reuse the two environments") < text.index("<details>")
    assert text.index("<details>") < text.index("LEAK DETECTED:") < text.index("</details>")


def test_change_without_a_leak_says_so():
    assert first_line(stories.healthy(), stories.healthy()) == "### 🟢 This change adds no leak"


def test_leak_of_both_is_none_of_the_change():
    line = first_line(stories.leaking(), stories.leaking())
    assert line.startswith("### 🟢 This change adds no leak; `main` has 7.2 GB per generation")


def test_leak_that_is_gone_is_said():
    line = first_line(stories.leaking(), stories.healthy())
    assert line.startswith("### 🟢 This change takes away 7.2 GB per generation, held by ")


def test_run_that_is_too_short_is_not_called_free_of_leaks():
    line = first_line(stories.healthy(), stories.short())
    assert line == "### 🔵 The run of this change is too short to tell"


def test_name_of_a_stranger_ends_no_code_and_no_comment():
    evil = replace(stories.ENV_LEAK, held_by="a`b\n-->", type="<script>.x", fix="@all `x`")
    text = comment(stories.healthy(), replace(stories.leaking(), findings=(evil,)))
    assert "held by `ab -->`" in text.splitlines()[1]
    assert "@all" not in text.split("<details>")[0]
    assert "<script>" not in text.split("```")[0]
