"""Recorded runs are judged as the table says: a sample of them at each run of the suite."""

from __future__ import annotations

from regression_tests.corpus.archive import unpack
from regression_tests.corpus.judge import judge
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
