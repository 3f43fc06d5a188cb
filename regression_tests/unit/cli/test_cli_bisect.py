"""``leakguard bisect``: the commit that began a leak, in a repository made here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from leakguard.cli import main

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

TRAIN = """
from leakguard import LeakGuard
from rollout import evaluate

with LeakGuard(out="run.jsonl", report=None) as guard:
    for generation in guard.generations(range(1, 7)):
        with guard.phase("evaluate"):
            evaluate()
"""
CALM = """
best = []
def evaluate():
    rollout = [float(n) for n in range(30_000)]
    best[:] = [rollout]
"""
LEAKY = CALM.replace("best[:] = [rollout]", "best.append(rollout)")
BROKEN = "import nothing_of_this_name\n"


def git(repository, *words):
    return subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def repository_of(tmp_path, *versions):
    """Make a commit for each version of rollout.py; return their names."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "train.py").write_text(TRAIN)
    commits = []
    for number, version in enumerate(versions):
        (folder / "rollout.py").write_text(f"# {number}\n{version}")
        git(folder, "add", "train.py", "rollout.py")
        git(folder, "commit", "-q", "-m", f"version {number}")
        commits.append(git(folder, "rev-parse", "HEAD"))
    return folder, commits


def bisect(folder, *words, monkeypatch):
    monkeypatch.chdir(folder)
    return main(["bisect", *words, "--", sys.executable, "train.py"])


def test_commit_that_began_the_leak_is_named_and_its_report_compared(tmp_path, monkeypatch, capfd):
    folder, commits = repository_of(tmp_path, CALM, CALM, LEAKY, LEAKY)
    (folder / "notes.txt").write_text("not committed")
    assert bisect(folder, commits[0], commits[-1], monkeypatch=monkeypatch) == 0
    shown = capfd.readouterr().out
    assert shown.startswith(f"The first commit that leaks: {commits[2][:12]} A, ")
    assert "version 2" in shown
    assert "rollout.best[*]" in shown
    assert git(folder, "rev-parse", "HEAD") == commits[-1]
    assert git(folder, "status", "--porcelain") == "?? notes.txt"
    assert git(folder, "worktree", "list").count("\n") == 0


@pytest.mark.heavy
def test_commit_that_does_not_run_is_passed_over(tmp_path, monkeypatch, capfd):
    folder, commits = repository_of(tmp_path, CALM, BROKEN, CALM, LEAKY)
    assert bisect(folder, commits[0], commits[-1], monkeypatch=monkeypatch) == 0
    assert f"first commit that leaks: {commits[3][:12]}" in capfd.readouterr().out


def test_good_commit_that_leaks_is_refused_in_one_line(tmp_path, monkeypatch, capfd):
    folder, commits = repository_of(tmp_path, LEAKY, LEAKY)
    assert bisect(folder, commits[0], commits[1], monkeypatch=monkeypatch) == 2
    said = [line for line in capfd.readouterr().err.splitlines() if "judging" not in line]
    assert len(said) == 1
    assert "is not a good commit: In evaluate" in said[0]


def test_name_that_is_no_commit_is_refused(tmp_path, monkeypatch, capfd):
    folder, commits = repository_of(tmp_path, CALM)
    assert bisect(folder, "v9", commits[0], monkeypatch=monkeypatch) == 2
    assert "'v9'" in capfd.readouterr().err


def test_outside_of_a_repository_it_says_so(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(tmp_path.parent))
    assert bisect(tmp_path, "a", "b", monkeypatch=monkeypatch) == 2
    assert "not a git repository" in capfd.readouterr().err
