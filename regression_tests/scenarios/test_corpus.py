"""Recorded runs are judged as the table says: a sample of them at each run of the suite."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import leakguard
from leakguard.analysis import diagnosis
from leakguard.model import Run
from regression_tests.corpus.archive import unpack
from regression_tests.corpus.judge import judge, load, told_finding
from regression_tests.corpus.keys import read_keys
from regression_tests.corpus.sample import sampled
from regression_tests.corpus.table import line_of, read_table

SAMPLE = 40


def test_a_sample_of_recorded_runs_gets_the_verdicts_of_the_table() -> None:
    """``make judge`` says what is said of all runs now, and how to make the table say it."""
    chosen, table = sampled(read_keys().values(), SAMPLE), read_table()
    judged = list(judge((chosen[run], files) for run, files in unpack() if run in chosen))
    assert len(judged) == SAMPLE
    verdicts = {one.run: line_of(one).split("\t")[0] for one in judged}
    assert verdicts == {run: table[run].split("\t")[0] for run in verdicts}


# Runs whose containers two sources find, at different depths.
TWICE_FOUND = ("several_leaks/seed_01-leak", "several_leaks/seed_60-leak")


def test_sources_in_any_order_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What explains what is decided by what was read, and not by what was read first."""
    chosen = {*sampled(read_keys().values(), 12), *TWICE_FOUND}
    runs = [load(files, tmp_path) for run, files in unpack() if run in chosen]
    assert len(runs) == len(chosen)
    now = list(map(said, runs))
    for seed in range(3):
        shuffled = random.Random(seed).sample(diagnosis.SOURCES, len(diagnosis.SOURCES))
        monkeypatch.setattr(diagnosis, "SOURCES", tuple(shuffled))
        assert list(map(said, runs)) == now


def said(run: Run) -> tuple[str, set[str], set[tuple[str, str]]]:
    report = leakguard.diagnose(run)
    cleared = {(one.metric, one.reason) for one in report.cleared}
    return report.verdict, set(map(told_finding, report.findings)), cleared
