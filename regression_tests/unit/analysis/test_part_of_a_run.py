"""A file that ends before its run does: what still rises there is not called stable."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Gauge, RunInfo
from leakguard.testing import RunStory, State

MIB = 1 << 20
BEGINS = 9


def story(rate, generations=30, gauge=None):
    """Tell a run whose live memory gains ``rate`` bytes a generation from the ninth on."""
    rng, told = random.Random(4), RunStory(info=RunInfo(source="jsonl"))
    for number in range(1, generations + 1):
        used = 20 * MIB + rate * max(0, number + 1 - BEGINS) + rng.randrange(600)
        gauges = {} if gauge is None else {"buffer": gauge(number)}
        numbers = {"heap_in_use": used // 2, "python_in_use": used - used // 2, "rss": 60 * MIB}
        told.generation(work=State(numbers, gauges=gauges))
    return told.run()


@pytest.mark.parametrize("rate", [8_000, 15_000])
def test_rise_to_where_the_file_ends_is_not_stable(rate):
    report = diagnose(replace(story(rate), finished=False))
    assert report.verdict == "inconclusive"
    assert "since generation" in report.headline
    assert "did so until the file ends" in report.headline


def test_whole_run_with_so_little_is_judged_by_its_last_look():
    assert diagnose(story(8_000)).verdict == "stable"


def test_flat_run_is_stable_wherever_its_file_ends():
    for generations in (8, 15, 30):
        part = replace(story(0, generations), finished=False)
        assert diagnose(part).verdict == "stable"


def test_rise_is_stable_while_it_is_too_small_to_be_told_from_what_interpreters_do():
    part = replace(story(8_000, generations=BEGINS + 2), finished=False)
    assert diagnose(part).verdict == "stable"


def test_buffer_that_fills_explains_the_rise_of_a_part():
    def buffer(number):
        return Gauge(max(0, number + 1 - BEGINS), capacity=200)

    part = replace(story(15_000, gauge=buffer), finished=False)
    assert diagnose(part).verdict == "stable"


@pytest.mark.parametrize("ignore", [(), ("Env",)])
def test_leak_that_is_told_or_ignored_explains_the_rise_of_a_part(ignore):
    told = RunStory(info=RunInfo(source="jsonl", ignore=ignore))
    for number in range(1, 31):
        used = 20 * MIB + 15_000 * number
        numbers = {"heap_in_use": used // 2, "python_in_use": used - used // 2, "rss": 60 * MIB}
        told.generation(work=State(numbers, {"Env": number}, {"Env": 15_000 * number}))
    report = diagnose(replace(told.run(), finished=False))
    assert report.verdict == ("stable" if ignore else "leak")
    assert not any("until the file ends" in limit for limit in report.limits)
