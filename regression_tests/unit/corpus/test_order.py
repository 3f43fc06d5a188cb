"""No order decides: the tables of claims, signs and sources in any order give the same reports."""

from __future__ import annotations

import pytest

from leakguard.analysis import diagnosis, holders
from leakguard.model import Run
from regression_tests.corpus.judge import loaded
from regression_tests.corpus.keys import Key, is_aside, read_keys
from regression_tests.corpus.orders import BY_STRENGTH, changed, in_order
from regression_tests.corpus.sample import sampled

RUNS, ORDERS = 24, 5
# Runs whose containers two sources find, at different depths.
TWICE_FOUND = ("several_leaks/seed_01-leak", "several_leaks/seed_60-leak")


@pytest.fixture(scope="module")
def runs() -> list[tuple[Key, Run]]:
    """A sample of the recorded runs, of all sets, with runs that two sources find."""
    known = read_keys()
    keys = sampled((key for run, key in known.items() if not is_aside(run)), RUNS)
    keys |= {run: known[run] for run in TWICE_FOUND}
    return [(keys[name], run) for name, run in loaded(keys)]


@pytest.mark.parametrize(("module", "name"), BY_STRENGTH)
def test_no_two_entries_of_a_table_are_equally_strong(module, name):
    strengths = [entry.strength for entry in getattr(module, name)]
    assert len(set(strengths)) == len(strengths) > 1


def test_order_of_claims_signs_and_sources_changes_no_report(runs):
    assert len(runs) >= RUNS and any(diagnosis.diagnose(run).findings for _, run in runs)
    for key, run in runs:
        assert changed(key, run, range(ORDERS)) == [], key.run


def test_tables_are_in_another_order_inside_of_the_block_alone():
    usual = holders.SIGNS
    with in_order(1):
        assert usual != holders.SIGNS
        assert set(holders.SIGNS) == set(usual)
    assert holders.SIGNS is usual
