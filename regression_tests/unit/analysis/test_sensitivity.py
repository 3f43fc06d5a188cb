"""The sensitivity that a headline names is that of its verdict: twice as much would be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakguard import diagnose, load
from leakguard.analysis.case import Case
from leakguard.analysis.sensitivity import least_told
from leakguard.model import Run
from regression_tests.benchmarks.silence.added_leak import simulated, with_leak

REPORTS = Path(__file__).parents[3] / "reports"
CALM = ("healthy", "env-data-copy", "buffer-save-spike", "deepcopy-clone")


def assert_twice_is_told(run: Run) -> None:
    least = least_told(Case(run))
    assert least is not None
    assert diagnose(with_leak(run, 2 * least)).verdict in ("leak", "suspect")


@pytest.mark.parametrize("name", CALM)
def test_twice_the_sensitivity_of_a_recorded_calm_run_is_told(name):
    run = load(REPORTS / name / "run.jsonl")
    assert diagnose(run).verdict == "stable"
    assert_twice_is_told(run)


def test_twice_the_sensitivity_of_simulated_calm_runs_is_told():
    calm = [run for run in map(simulated, range(40)) if diagnose(run).verdict == "stable"]
    known = [run for run in calm if least_told(Case(run)) is not None]
    assert len(known) >= 20
    for run in known:
        assert_twice_is_told(run)


def test_headline_of_a_calm_run_names_no_less_than_what_its_verdict_would_tell():
    run = simulated(1)
    least = least_told(Case(run))
    report = diagnose(run)
    assert report.verdict == "stable"
    assert least >= 500_000 / len(run.generations) * 0.9  # less in all is dropped as a trifle
    assert "would go undetected" in report.headline
