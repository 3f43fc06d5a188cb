"""``leakguard fix`` from end to end, on small programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import leakguard
from leakguard.cli import main

pytest.importorskip("libcst")

OWN_GUARD = """\
from leakguard import LeakGuard

best = []

def evaluate(generation):
    best.append([float(generation)] * 100_000)  # all of them
    print(generation, "after", best[-2:][0][0])

with LeakGuard(out="run.jsonl", report=None) as guard:
    for generation in guard.generations(range(9)):
        evaluate(generation)
"""
UNPREPARED = """\
import time
rollouts = {}

def evaluate(generation):
    rollouts[generation] = bytearray(400_000)
    time.sleep(0.02)

for generation in range(60):
    evaluate(generation)
print("done")
"""


def run_once(folder, monkeypatch, text, *words):
    """Write the program and run it once, as the user did; return the name of its run."""
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(text)
    search = os.pathsep.join([str(Path(leakguard.__file__).parents[1]), *sys.path])
    monkeypatch.setenv("PYTHONPATH", search)
    subprocess.run([sys.executable, *words, "train.py"], check=True, capture_output=True)
    return next(folder.glob("*.jsonl")).name


def test_program_with_a_guard_is_fixed_and_stays_as_it_is(tmp_path, monkeypatch, capfd):
    run = run_once(tmp_path, monkeypatch, OWN_GUARD)
    before = (tmp_path / run).read_bytes()
    assert main(["fix", run, "--", sys.executable, "train.py"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("--- a/train.py\n+++ b/train.py\n")
    added = [line for line in out.splitlines() if line.startswith("+") and "+++" not in line]
    assert added == ["+    del best[:-2]"]
    assert "BROKE THE PROGRAM: clear best" in err  # the entry of the round before is read
    assert "FIXED: keep the newest 2 entries of best" in err
    assert (tmp_path / "train.py").read_text() == OWN_GUARD
    assert (tmp_path / run).read_bytes() == before


def test_script_that_knows_nothing_of_leakguard_is_fixed(tmp_path, monkeypatch, capfd):
    run = run_once(tmp_path, monkeypatch, UNPREPARED, "-m", "leakguard", "run")
    assert main(["fix", run, "--", sys.executable, "train.py"]) == 0
    out, err = capfd.readouterr()
    assert "+    rollouts.clear()\n" in out
    assert "before" in err and "after" in err


def test_patch_that_does_not_fix_it_ends_with_status_1(tmp_path, monkeypatch, capfd):
    run = run_once(tmp_path, monkeypatch, OWN_GUARD)
    patch = "--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,4 @@\n from leakguard import LeakGuard\n" \
        "+import os\n \n best = []\n"  # fmt: skip
    (tmp_path / "change.diff").write_text(patch)
    words = ["fix", run, "--patch", "change.diff", "--", sys.executable, "train.py"]
    assert main(words) == 1
    out, err = capfd.readouterr()
    assert out == patch and "NOT FIXED: change.diff" in err


def test_what_cannot_be_used_is_said_in_one_line(tmp_path, monkeypatch, capfd):
    run = run_once(tmp_path, monkeypatch, OWN_GUARD)
    assert main(["fix", run, "--finding", "9", "--", "true"]) == 2
    assert "so none is number 9" in capfd.readouterr().err
    assert main(["fix", run, "--", "true"]) == 2
    assert "the command recorded no run; name its file with --run" in capfd.readouterr().err
    assert main(["fix", "none.jsonl", "--", "true"]) == 2


def test_missing_extra_is_said_in_one_line(tmp_path, monkeypatch, capfd):
    run = run_once(tmp_path, monkeypatch, OWN_GUARD)
    for name in [name for name in sys.modules if name.startswith(("leakguard.fixing.", "libcst"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "libcst", None)
    assert main(["fix", run, "--", sys.executable, "train.py"]) == 2
    said = capfd.readouterr().err.strip().splitlines()
    assert len(said) == 1 and "[fix]" in said[0]
