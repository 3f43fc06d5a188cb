"""A recorded run is judged with the looks that the policy would have taken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.model import Run
from regression_tests.corpus.archive import unpack
from regression_tests.corpus.judge import loaded
from regression_tests.corpus.keys import read_keys
from regression_tests.corpus.looks import HEAD, as_recorded, changed, plan, replay, row

RUN = "several_leaks/seed_10-leak"


@pytest.fixture(scope="module")
def recorded() -> Run:
    return dict(loaded({RUN}))[RUN]


def looks(run: Run) -> list[int]:
    ends = [shot for shot in run.snapshots if shot.moment == "generation"]
    return [number for number, end in enumerate(ends) if end.census is not None]


def test_looks_that_the_policy_would_not_have_taken_are_left_out(recorded):
    kept, spent = plan(recorded)
    assert set(looks(kept)) < set(looks(recorded))
    assert len(kept.snapshots) == len(recorded.snapshots)
    assert spent.share > 0


def test_number_of_the_policy_is_changed_for_as_long_as_it_is_weighed(recorded):
    _, before = plan(recorded)
    with changed({"FIXED_SECONDS": 1.0}):
        assert plan(recorded)[1].censuses > before.censuses
    assert plan(recorded)[1] == before
    with pytest.raises(KeyError), changed({"_NO_SUCH_NUMBER": 1.0}):
        pass


def test_run_without_a_limit_keeps_all_of_its_looks(recorded):
    unlimited = replace(recorded, info=replace(recorded.info, max_overhead=None))
    assert plan(unlimited)[0] is unlimited


def test_leak_is_found_with_the_looks_of_the_policy():
    runs = [(read_keys()[name], files) for name, files in unpack() if name == RUN]
    ((answer, _),) = replay(runs)
    assert answer.verdict == "leak" and all(mark.detected for mark in answer.marks)


def test_looks_of_a_run_are_counted_as_they_were_recorded(recorded):
    runs = [(read_keys()[name], files) for name, files in unpack() if name == RUN]
    told = row("the run", replay(runs, as_recorded))
    assert len(told) == len(HEAD)
    assert int(told[1]) == len(looks(recorded))
