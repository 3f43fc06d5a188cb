"""Budgets of tests: what fails, what passes, and what a failure says."""

from __future__ import annotations

import re

import pytest


def test_marked_test_runs_several_times_and_names_limit_fact_culprit_holder_and_fix(ran):
    assert ran.of("test_leak") == "failure"
    text = " ".join(ran.message("test_leak").split())  # whatever its lines are broken at
    assert "2 of 2 limits broken, after 8 generations (4 asked for, 4 more to be sure)" in text
    assert re.search(r"FAILED +live test_program.Other: 8 at Gen 8.*limit: always 0", text)
    assert "Object: Other count increasing: 0 → 1 → 2" in text
    assert "Held by: test_program.KEPT[*]" in text
    assert "- Fix: " in text
    assert "report.html" in text


def test_loop_over_the_fixture_fails_at_its_own_line(ran):
    text = ran.message("test_leak_in_a_loop")
    assert ">       for _generation in memory_budget.generations(4):" in text
    assert re.search(r"FAILED +growth per generation: \+.*confirmed by", text, re.DOTALL)
    assert "guard.py" not in text


def test_no_failure_shows_a_frame_of_the_plugin(ran):
    for test in ("test_leak", "test_promise_broken", "test_cycle"):
        assert "pytest_plugin/" not in ran.message(test)
        assert "traceback entries are hidden" not in ran.message(test)


@pytest.mark.parametrize(
    "test", ["test_kept", "test_instances_of_other_tests", "test_logs", "test_parameter[False]"]
)
def test_budget_is_kept_where_nothing_grows(ran, test):
    assert ran.outcomes[test] == ("passed", "")


def test_growth_that_ends_within_the_retries_is_kept(ran):
    assert ran.of("test_filling") == "passed"
    assert "took more generations to be sure" not in ran.message("test_filling")


def test_cycles_with_much_in_them_break_a_budget(ran):
    assert "- Type: test_program.Env" in ran.message("test_cycle")
    assert "cycle" in ran.message("test_cycle")


def test_each_parameter_has_a_budget_of_its_own(ran):
    assert ran.of("test_parameter[True]") == "failure"


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("test_left_early", "was left after 0 of 5"),
        ("test_never_looped", "the test never looped over memory_budget.generations()"),
        ("test_misspelt_type", "live Enviroment: the run does not count this type"),
    ],
)
def test_budget_that_was_not_judged_does_not_pass(ran, test, says):
    assert ran.of(test) == "failure"
    assert says in ran.message(test)


def test_failure_of_the_test_itself_is_shown_as_it_is(ran):
    assert "AssertionError: something kept" in ran.message("test_wrong")
    assert ran.of("test_skipped") == "skipped"


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("test_misspelt_argument", "memory_budget has no argument 'grwth'; it takes growth, "),
        ("test_size", "budget key growth: 'a lot' is not a size"),
        ("test_positional", "memory_budget takes keyword arguments only"),
        ("test_few", "generations=2 is no number of 3 or more"),
        ("test_coroutine", "memory_budget cannot repeat a coroutine"),
    ],
)
def test_argument_that_cannot_be_used_is_named(ran, test, says):
    assert ran.of(test) == "error"
    assert says in ran.message(test)
    assert "During handling" not in ran.message(test)


def test_summary_counts_the_budgets_once(ran):
    (line,) = re.findall(r"^leakguard: .*budgets? broken$", ran.printed, re.MULTILINE)
    assert line == "leakguard: 5 of 10 memory budgets broken"


def test_github_gets_an_annotation_for_each_broken_limit(ran):
    lines = [line for line in ran.printed.splitlines() if line.startswith("::error ")]
    (live,) = [line for line in lines if "Memory budget%3A live test_program.Other::" in line]
    assert live.split("::")[2].startswith("8 at Gen 8")
    assert "Held by: test_program.KEPT" in "".join(lines)


def test_reports_are_written_once_for_every_budget(ran):
    folder = ran.folder / "memory"
    index = (folder / "index.md").read_text()
    assert index.count("test_kept") == 2 * 7
    assert "5 of 10 memory budgets broken" in index
    broken = next(path for path in folder.iterdir() if "test_leak_in" in path.name)
    assert {path.name for path in broken.iterdir()} == {
        "run.jsonl", "report.md", "report.json", "report.html",
    }  # fmt: skip
    kept = next(path for path in folder.iterdir() if "test_kept" in path.name)
    assert not (kept / "report.html").exists()


def test_promise_that_is_broken_fails_with_the_holder(ran):
    text = ran.message("test_promise_broken")
    assert "1 of 1 test_program.Env still alive (replaced), held by test_program.KEPT[*]" in text
    assert ran.of("test_promise_through_the_package") == "failure"
    assert ran.of("test_promise_kept") == "passed"


def test_guard_is_active_in_its_test_and_in_no_other(ran):
    assert ran.of("test_guard") == "passed"
    assert ran.of("test_raises_in_the_loop") == "failure"
    assert ran.of("test_no_guard_is_left") == "passed"
