"""``leakguard-accepted.toml``: a finding that does not fail until its date has passed."""

from __future__ import annotations

import json

import pytest
from told_runs import add_run

from leakguard.cli import main

_ENTRY = '[[accepted]]\nfingerprint = "{}"\nreason = "the cache of tokens"\nuntil = {}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add_run(tmp_path / "leaking.jsonl", leaks=True)
    return tmp_path


def fingerprint(capsys):
    main(["report", "leaking.jsonl", "--format", "json"])
    return json.loads(capsys.readouterr().out)["findings"][0]["fingerprint"]


def accept(folder, *entries):
    text = "\n".join(_ENTRY.format(name, until) for name, until in entries)
    (folder / "leakguard-accepted.toml").write_text(text, encoding="utf-8")


def test_accepted_finding_fails_neither_report_nor_check(folder, capsys):
    assert main(["check", "leaking.jsonl"]) == 1
    assert main(["report", "leaking.jsonl", "--fail-on", "leak"]) == 1
    capsys.readouterr()
    accept(folder, (fingerprint(capsys), "2999-12-31"))
    assert main(["check", "leaking.jsonl"]) == 0
    assert main(["report", "leaking.jsonl", "--fail-on", "leak"]) == 0
    said = capsys.readouterr()
    assert said.err == ""


def test_accepted_finding_is_nothing_that_a_change_adds(folder, capsys):
    add_run(folder / "main.jsonl", leaks=False)
    compared = ["diff", "main.jsonl", "leaking.jsonl", "--format", "comment", "--fail-on", "leak"]
    assert main(compared) == 1
    assert "This change adds 2.0 MB per generation" in capsys.readouterr().out
    accept(folder, (fingerprint(capsys), "2999-12-31"))
    assert main(compared) == 0
    assert "This change adds no leak" in capsys.readouterr().out


def test_accepted_finding_is_listed_with_its_reason_and_date(folder, capsys):
    accept(folder, (fingerprint(capsys), "2999-12-31"))
    main(["report", "leaking.jsonl", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["findings"] == []
    assert report["ignored"][0]["reason"] == "accepted until 2999-12-31: the cache of tokens"
    main(["report", "leaking.jsonl", "--format", "markdown"])
    assert "accepted until 2999-12-31: the cache of tokens" in capsys.readouterr().out


def test_finding_past_its_date_fails_again_and_is_said(folder, capsys):
    name = fingerprint(capsys)
    accept(folder, (name, "2020-01-31"))
    assert main(["check", "leaking.jsonl"]) == 1
    assert main(["report", "leaking.jsonl", "--fail-on", "leak"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert f"{name} was accepted until 2020-01-31 (the cache of tokens)" in lines[0]


def test_another_finding_is_not_accepted(folder):
    accept(folder, ("0123456789ab", "2999-12-31"))
    assert main(["check", "leaking.jsonl"]) == 1


def test_file_of_a_folder_above_is_found(folder, capsys, monkeypatch):
    accept(folder, (fingerprint(capsys), "2999-12-31"))
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert main(["check", "../leaking.jsonl"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[accepted]\n", "is not TOML"),
        ("accepted = 3\n", "accepted is no list"),
        ("[[accepted]]\nfingerprint = 'ab'\n", "entry 1: give fingerprint, reason, until"),
        (_ENTRY.format("*", "2999-12-31"), "entry 1: fingerprint is that of a finding"),
        (_ENTRY.format("0123456789ab", "'2999-12-31'"), "entry 1: until is no date"),
        (_ENTRY.format("0123456789ab", "2999-12-31").replace("the cache of tokens", " "),
         "entry 1: reason is no text"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["report", "check"])
def test_entry_that_cannot_be_used_is_one_line(command, text, said, folder, capsys):
    (folder / "leakguard-accepted.toml").write_text(text, encoding="utf-8")
    assert main([command, "leaking.jsonl"]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_working_folder_that_is_gone_accepts_nothing(folder, monkeypatch, capsys):
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["check", str(folder / "leaking.jsonl")]) in (1, 2)
    assert "Traceback" not in capsys.readouterr().err
