"""The sensitivity that a headline names is that of its verdict: twice as much would be told."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from leakguard import diagnose, load
from leakguard.analysis.case import Case
from leakguard.analysis.sensitivity import least_told
from leakguard.model import Run
from leakguard.testing import RunStory, State

REPORTS = Path(__file__).parents[3] / "reports"
CALM = ("healthy", "env-data-copy", "buffer-save-spike", "deepcopy-clone")
MB = 1_000_000
_NUMBERS = ("heap_in_use", "rss", "rss_anonymous", "vms")


def with_leak(run: Run, rate: float) -> Run:
    """Return a recorded run in which each generation leaves ``rate`` bytes more."""
    first = now = run.generations[0]
    shots = []
    for shot in run.snapshots:
        now = now if shot.generation is None else shot.generation
        came, before = (int(rate * max(at - first, 0)) for at in (now, now - 1))
        metrics = {n: v + came * (n in _NUMBERS) for n, v in shot.metrics.items()}
        entry = {n: v + before * (n in _NUMBERS) for n, v in shot.entry.items()}
        shots.append(replace(shot, metrics=metrics, entry=entry))
    return replace(run, snapshots=tuple(shots))


def simulated(seed: int) -> Run:
    """Return a calm run of its own length, noise and shape."""
    chance = random.Random(seed)
    rounds, noise = chance.randint(8, 120), chance.choice((0, 1_000, 50_000, 1_000_000))
    tooth, fill = chance.choice((0, 0, 5)), chance.choice((0, 0, 20 * MB))
    story = RunStory()
    for number in range(rounds + 1):
        size = 80 * MB + chance.gauss(0, noise) + fill * (1 - 0.7**number)
        size += 2 * MB * (number % tooth) if tooth else 0
        state = State({"heap_in_use": int(size), "rss": int(size) + 40 * MB})
        story.generation(train=state) if number else story.baseline(state)
    return story.run()


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
