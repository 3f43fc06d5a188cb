"""``leakguard check`` and ``leakguard diff``: limits, baselines, exit status."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
import training_logs
from told_runs import add_run

from leakguard.cli import main


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaking.log").write_text(training_logs.leaking(), encoding="utf-8")
    (tmp_path / "healthy.log").write_text(training_logs.healthy(), encoding="utf-8")
    return tmp_path


def budget(folder, text, name="budget.toml"):
    (folder / name).write_text(text, encoding="utf-8")
    return ["--budget", str(folder / name)]


def test_without_a_budget_only_a_leak_fails(runs, capsys):
    assert main(["check", "healthy.log"]) == 0
    assert main(["check", "leaking.log"]) == 1
    out = capsys.readouterr().out
    assert "PASSED: 1 of 1 limits kept" in out
    assert "FAILED: 1 of 1 limits broken" in out
    assert "LEAK DETECTED:" in out


def test_broken_limit_names_limit_fact_and_culprit(runs, capsys):
    limits = budget(runs, 'verdict = "never"\n[constant]\nTradingEnvironment = 2\n')
    assert main(["check", "leaking.log", *limits]) == 1
    out = capsys.readouterr().out
    assert "FAILED        live TradingEnvironment: 34 at Gen 3: After evaluate_population" in out
    assert "- Pattern: Adds 16 TradingEnvironment per generation" in out


def test_healthy_run_keeps_the_same_limits(runs, capsys):
    limits = budget(runs, "[constant]\nTradingEnvironment = 2\nDDPGAgent = [16, 17]\n")
    assert main(["check", "healthy.log", *limits]) == 0


@pytest.mark.parametrize(
    "command", [["check", "leaking.log"], ["diff", "healthy.log", "leaking.log"]]
)
def test_the_block_of_a_leak_fits_the_terminal(command, runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    main(command)
    out = capsys.readouterr().out
    assert "LEAK DETECTED:" in out
    assert max(map(len, out.splitlines())) <= 60


def test_each_file_of_a_folder_is_held_against_the_budget(tmp_path, capsys):
    add_run(tmp_path / "a_leaking.jsonl", leaks=True)
    add_run(tmp_path / "b_healthy.jsonl", leaks=False)
    assert main(["check", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "FAILED: 1 of 2 limits broken" in out
    assert "a_leaking.jsonl: " in out
    assert "b_healthy.jsonl: " in out


def test_budget_of_the_project_file_is_found(runs, capsys):
    budget(runs, '[tool.leakguard.budget]\npeak = "10 GB"\n', "pyproject.toml")
    assert main(["check", "healthy.log"]) == 1
    assert "peak RSS: 15.1 GB; limit: at most 10.0 GB" in capsys.readouterr().out


def test_limit_on_what_was_not_recorded_is_no_success(runs, capsys):
    assert main(["check", "healthy.log", *budget(runs, "threads = 0\n")]) == 2
    captured = capsys.readouterr()
    assert "not measured" in captured.out
    assert captured.err.count("\n") == 1
    assert "could not be checked" in captured.err


def test_worse_than_the_baseline_fails_and_better_passes(runs, capsys):
    limits = budget(runs, 'verdict = "never"\n')
    assert main(["check", "leaking.log", "--baseline", "healthy.log", *limits]) == 1
    assert "growth per generation against the baseline" in capsys.readouterr().out
    assert main(["check", "healthy.log", "--baseline", "leaking.log", *limits]) == 0


def test_machine_formats_agree_with_the_exit_status(runs, capsys):
    assert main(["check", "leaking.log", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is False
    assert document["checks"][0]["culprit"]["count_per_generation"] == 16
    assert main(["check", "leaking.log", "--format", "junit"]) == 1
    assert len(list(ET.fromstring(capsys.readouterr().out).iter("failure"))) == 1
    assert main(["check", "leaking.log", "--format", "github"]) == 1
    assert capsys.readouterr().out.startswith("::error title=Memory budget%3A diagnosis::")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("growth = [", "is not TOML"),
        ('grwth = "1 GB"', "unknown budget key 'grwth'"),
        ('growth = "fast"', "budget key growth: 'fast' is not a size"),
        ('verdict = "maybe"', "not one of leak, suspect, never"),
        ("constant = 3", "is no table"),
        ("[constant]\nEnv = [3, 2]", "budget key constant.Env"),
        ("warmup = -1", "no number of generations"),
        ('[phases.x]\nrss = "1 GB"', "unknown phase key 'rss'"),
    ],
)
def test_budget_that_cannot_be_used_is_one_line(runs, capsys, text, says):
    assert main(["check", "healthy.log", *budget(runs, text)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert says in captured.err
    assert "budget.toml" in captured.err


def test_missing_budget_is_one_line(runs, capsys):
    assert main(["check", "healthy.log", "--budget", "none.toml"]) == 2
    assert "cannot read the budget none.toml" in capsys.readouterr().err


def test_diff_names_what_is_new(runs, capsys):
    assert main(["diff", "healthy.log", "leaking.log", "--fail-on", "leak"]) == 1
    out = capsys.readouterr().out
    assert "WORSE: leak, was stable; findings: 1 new" in out
    assert "LEAK DETECTED:" in out


def test_diff_names_what_is_gone(runs, capsys):
    assert main(["diff", "leaking.log", "healthy.log", "--fail-on", "leak"]) == 0
    out = capsys.readouterr().out
    assert "BETTER: stable, was leak; findings: 1 gone" in out
    assert "Gone in the second run" in out


def test_run_does_not_differ_from_itself(runs, capsys):
    assert (
        main(["diff", "leaking.log", "leaking.log", "--format", "json", "--fail-on", "leak"]) == 0
    )
    document = json.loads(capsys.readouterr().out)
    assert document["new"] == document["gone"] == []
    assert len(document["stayed"]) == 1
    assert all(m["before"] == m["after"] for m in document["measures"])


def test_diff_in_markdown_is_a_document(runs, capsys):
    assert main(["diff", "healthy.log", "leaking.log", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# WORSE: leak, was stable")
