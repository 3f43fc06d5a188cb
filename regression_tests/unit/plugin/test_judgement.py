"""Budgets held against runs told as stories: what confirms growth, and what does not."""

from __future__ import annotations

import pytest

from leakguard.errors import UsageError
from leakguard.integrations.pytest_plugin.judgement import judge
from leakguard.integrations.pytest_plugin.older import Older
from leakguard.integrations.pytest_plugin.settings import rounds, settings_of
from leakguard.testing import RunStory, State

MB = 1_000_000


class Env:
    pass


NAME = f"{Env.__module__}.{Env.__qualname__}"


def growth_of(ends, *, first=1, **settings):
    """Judge a story of (allocator, objects, RSS) in MB."""
    story = RunStory()
    story.baseline(State({"heap_in_use": 0, "rss_anonymous": 0}, {"bytes": 1}, {"bytes": 0}))
    for in_use, objects, rss in ends:
        metrics = {"heap_in_use": in_use * MB, "rss_anonymous": rss * MB}
        story.generation(work=State(metrics, {"bytes": 1}, {"bytes": objects * MB}))
    judged = judge(story.run(), settings_of({"verdict": "never", **settings}, {}), first, {})
    return next(check for check in judged.checks if check.subject.startswith("growth"))


def test_growth_needs_two_measurements():
    both = growth_of([(2 * n, 2 * n, 0) for n in range(5)], growth="1 MB")
    assert (both.outcome, both.measured) == ("broken", 2 * MB)
    assert "confirmed by" in both.fact


def test_growth_of_one_measurement_alone_is_no_failure():
    alone = growth_of([(n % 2, 2 * n, 0) for n in range(5)], growth="1 MB", warmup=0)
    assert alone.outcome == "kept"
    assert "no second measurement confirms it" in alone.fact


def test_rss_alone_never_breaks_a_budget():
    assert growth_of([(10, 10, 50 * n) for n in range(5)], growth="1 MB").outcome == "kept"


def test_warm_up_is_not_counted():
    rounds_ = [(0, 0, 0), (50, 50, 50), (50, 50, 50), (50, 50, 50), (50, 50, 50)]
    assert growth_of(rounds_, growth="1 MB").outcome == "kept"


def test_batch_after_a_retry_is_judged_by_itself():
    rounds_ = [(9 * n, 9 * n, 0) for n in range(5)] + [(36, 36, 0)] * 5
    assert growth_of(rounds_, growth="1 MB", first=6).outcome == "kept"


def test_limit_may_be_for_the_whole_test():
    rounds_ = [(n, n, 0) for n in range(5)]
    kept = growth_of(rounds_, growth="5 MB", per="test", generations=5)
    broken = growth_of(rounds_, growth="3 MB", per="test", generations=5)
    assert (kept.outcome, broken.outcome) == ("kept", "broken")
    assert kept.subject == "growth per test"


def test_instances_older_than_the_test_are_not_its_own():
    story = RunStory(watch={NAME: (0, 0)})
    story.baseline(State(counts={NAME: 3}))
    for _ in range(4):
        story.generation(work=State({"heap_in_use": 1}, {NAME: 3}))
    settings = settings_of({"constant": {Env: 0}, "verdict": "never"}, {})
    assert [c.outcome for c in judge(story.run(), settings, 1, {NAME: Older(3)}).checks] == ["kept"]
    assert [c.outcome for c in judge(story.run(), settings, 1, {NAME: Older(1)}).checks] == [
        "broken"
    ]


def test_arguments_go_over_the_ini_file():
    settings = settings_of({"growth": "2 MB"}, {"growth": "1 MB", "threads": "1", "retries": "0"})
    assert settings.budget.growth == 2 * MB
    assert settings.budget.resources == {"threads": 1.0}
    assert (settings.generations, settings.retries) == (5, 0)


@pytest.mark.parametrize(
    "arguments",
    [
        {"per": "minute"},
        {"constant": [Env]},
        {"constant": {3: 1}},
        {"constant": {Env: (3, 1)}},
        {"retries": -1},
        {"generations": True},
        {"warmup": 4, "generations": 5},
    ],
)
def test_argument_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(UsageError):
        settings_of(arguments, {})


def test_too_few_rounds_are_refused():
    with pytest.raises(UsageError, match="number of 3 or more"):
        rounds(2, warmup=0)
