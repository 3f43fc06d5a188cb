"""A row of the table of fixes is what ``leakguard fix`` wrote to standard error."""

from __future__ import annotations

from regression_tests.benchmarks.fixes.__main__ import Row, page, row_of
from regression_tests.benchmarks.fixes.programs import manifest

SAID = """\
leakguard: running the program without a change
leakguard: trying: clear best when a round begins (train.py)
BROKE THE PROGRAM: clear best when a round begins: it prints '1', was '2'
  before  ▁▂█  1.6 MB per generation, 17.4 MB to 31.7 MB
  after   ▁▅█  0 B per generation, 17.4 MB to 17.4 MB
leakguard: trying: keep the newest 2 entries of best (train.py)
FIXED: keep the newest 2 entries of best: the finding is gone
  before  ▁▂█  1.6 MB per generation, 17.4 MB to 31.7 MB
  after   ▁▂█  0 B per generation, 17.4 MB to 18.9 MB
"""


def test_row_has_the_best_outcome_with_both_rates():
    title = "keep the newest 2 entries of best: the finding is gone"
    assert row_of("train", SAID) == Row("train", "fixed", title, "1.6 MB", "0 B", 2)


def test_program_without_a_proposal_or_a_second_leak_says_why():
    assert row_of("a", "leakguard: no change is proposed: why").outcome == "no proposal"
    assert row_of("a", "leakguard: the command recorded no run").outcome == "unusable"


def test_page_counts_the_outcomes():
    text = page([row_of("a", SAID), row_of("b", SAID)], "abc")
    assert text.startswith("`leakguard fix` at abc, once on each of 2 leaking programs: 2 fixed.")


def test_manifest_has_thirty_programs():
    assert len(list(manifest())) >= 30
