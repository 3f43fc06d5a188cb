"""``leakguard reproduce`` from end to end, on small programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import leakguard
from leakguard.cli import main

KEEPS = """\
import sys
from leakguard import LeakGuard

best = []

def evaluate():
    best.append([float(sys.maxsize)] * 50_000)

def main():
    with LeakGuard(out="run.jsonl", report=None) as guard:
        for generation in guard.generations(range(8)):
            evaluate()

if __name__ == "__main__":
    main()
"""
NEEDS_DATA = """\
import json
from leakguard import LeakGuard

best = []

def evaluate(batch):
    best.append([float(batch)] * 50_000)

def play(path):
    with open(path) as file:
        size = json.load(file)
    with LeakGuard(out="run.jsonl", report=None) as guard:
        for generation in guard.generations(range(8)):
            evaluate(size)

if __name__ == "__main__":
    import sys
    play(sys.stdin.readline().strip())
"""


def run_once(folder: Path, monkeypatch, text: str, given: str = "") -> None:
    """Write the program and run it once, as the user did."""
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(text)
    search = os.pathsep.join([str(Path(leakguard.__file__).parents[1]), *sys.path])
    monkeypatch.setenv("PYTHONPATH", search)
    subprocess.run([sys.executable, "train.py"], check=True, capture_output=True,
                   input=given, text=True)  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {f.name: f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def test_smallest_test_is_written_and_nothing_else_changes(tmp_path, monkeypatch, capfd):
    run_once(tmp_path, monkeypatch, KEEPS)
    before = contents(tmp_path)
    assert main(["reproduce", "run.jsonl", "-o", "test_leak.py"]) == 0
    said = capfd.readouterr().err
    assert "a call of evaluate() fails on it" in said
    after = contents(tmp_path)
    text = after.pop("test_leak.py").decode()
    assert after == before
    comment, code = text.split("import pytest\n")
    assert "held by __main__.best" in comment
    assert code == (
        "from train import evaluate\n\n\n@pytest.mark.memory_budget(generations=3)\n"
        "def test_best_does_not_grow():\n    evaluate()\n"
    )


def test_program_that_needs_data_of_the_run_is_told_in_one_line(tmp_path, monkeypatch, capfd):
    (tmp_path / "size.json").write_text("7")
    run_once(tmp_path, monkeypatch, NEEDS_DATA, "size.json\n")
    before = contents(tmp_path)
    assert main(["reproduce", "run.jsonl", "--tries", "2", "--limit", "30"]) == 1
    out, err = capfd.readouterr()
    assert out == "" and contents(tmp_path) == before
    (line,) = err.splitlines()
    assert "evaluate() needs arguments: batch: needs data of the run" in line


def test_what_cannot_be_used_is_said_in_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "none.jsonl"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1
    run_once(tmp_path, monkeypatch, KEEPS)
    capfd.readouterr()
    assert main(["reproduce", "run.jsonl", "--finding", "9"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "findings, so none is number 9" in line
