"""No order decides: the tables of claims, signs and sources in any order give the same reports."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from leakguard.analysis import diagnosis, holders, sources
from leakguard.analysis.claims import memory, metrics, types
from leakguard.model import Run
from regression_tests.corpus.judge import judged, loaded
from regression_tests.corpus.keys import Key, is_aside, read_keys
from regression_tests.corpus.sample import sampled

TABLES = ((types, "CLAIMS"), (metrics, "CLAIMS"), (memory, "CLAIMS"), (holders, "SIGNS"))
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


def shuffled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put all tables into one order after the other."""
    for seed in range(ORDERS):
        chance = random.Random(seed)
        for module, name in (*TABLES, (sources, "SOURCES")):
            table = list(getattr(module, name))
            chance.shuffle(table)
            monkeypatch.setattr(module, name, tuple(table))
        yield


@pytest.mark.parametrize(("module", "name"), TABLES)
def test_no_two_entries_of_a_table_are_equally_strong(module, name):
    strengths = [entry.strength for entry in getattr(module, name)]
    assert len(set(strengths)) == len(strengths) > 1


def test_order_of_claims_signs_and_sources_changes_no_report(runs, monkeypatch):
    told = {key.run: judged(key, diagnosis.diagnose(run)) for key, run in runs}
    assert len(told) >= RUNS and any(one.findings for one in told.values())
    for _ in shuffled(monkeypatch):
        assert {key.run: judged(key, diagnosis.diagnose(run)) for key, run in runs} == told
