"""When memory runs out, said only of what grows, and where a filling buffer stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis import diagnose
from leakguard.model import Gauge, RunInfo
from leakguard.model.forecast import Forecast
from leakguard.render.forecast import duration, forecast_sentence
from leakguard.testing import RunStory, State

GB = 10**9
MB = 10**6
LIMIT = 175 * GB


def story(sizes, counts=None, gauges=None, limit=LIMIT, pace=600.0):
    told = RunStory(watch={"app.Env": (2, 2)}, info=RunInfo(memory_limit=limit))
    for number, size in enumerate(sizes):
        env = 2 if counts is None else counts[number]
        state = State(
            {"rss": size, "heap_in_use": size - GB // 4}, {"app.Env": env, "numpy.ndarray": 5},
            {"numpy.ndarray": size - GB // 2},
            {} if gauges is None else {"buffer": gauges[number]},
        )  # fmt: skip
        if number:
            told.generation(evaluate=state)
        else:
            told.baseline(state)
    run = told.run()
    timed = tuple(
        replace(s, seconds=None if s.generation is None else s.generation * pace)
        for s in run.snapshots
    )
    return replace(run, snapshots=timed)


def leaking(**options):
    counts = [2 + 16 * n for n in range(9)]
    return story([4 * GB + n * 72 * 10**8 for n in range(9)], counts, **options)


def test_leak_is_followed_to_the_limit_in_generations_and_time():
    report = diagnose(leaking())
    # 61.6 GB after generation 8; 113.4 GB of room are 15.75 generations of 7.2 GB.
    assert report.forecast.generation == 24
    assert report.forecast.seconds == pytest.approx(16 * 600)
    assert report.forecast.used == 61_600 * MB
    assert report.findings[0].forecast.generation == 24


def test_healthy_run_has_no_forecast():
    report = diagnose(story([4 * GB] * 9))
    assert report.verdict == "stable"
    assert report.forecast is None


def test_without_a_limit_or_a_clock_nothing_is_foretold():
    assert diagnose(leaking(limit=None)).forecast is None
    untimed = leaking()
    untimed = replace(untimed, snapshots=tuple(replace(s, seconds=None) for s in untimed.snapshots))
    assert diagnose(untimed).forecast.seconds is None


def test_limit_that_is_passed_is_reached_now():
    report = diagnose(leaking(limit=50 * GB))
    assert report.forecast.generation == 8
    assert report.forecast.seconds == 0


def test_filling_buffer_names_the_generation_that_fills_it_and_the_memory_then():
    gauges = [Gauge(n * 2_000.0, 50_000) for n in range(11)]
    report = diagnose(story([4 * GB + n * 400 * MB for n in range(11)], gauges=gauges))
    buffer = next(c for c in report.cleared if c.metric == "buffer")
    assert (buffer.plateau, buffer.until) == (50_000, 25)
    assert buffer.reason == "buffer fills until generation 25, then stays: 20,000 of 50,000"
    memory = next(c for c in report.cleared if c.metric == "heap_in_use")
    assert memory.until == 25
    assert memory.plateau == pytest.approx(13.75 * GB, rel=1e-6)
    assert "until generation 25, then 13.8 GB" in memory.reason
    assert report.forecast is None


def test_memory_that_saturates_names_its_plateau_in_bytes():
    sizes = [4 * GB + (1 - 0.7**n) * 10 * GB for n in range(11)]
    cleared = diagnose(story(sizes)).cleared
    memory = next(c for c in cleared if c.metric == "heap_in_use")
    assert memory.plateau == pytest.approx(13.75 * GB, rel=0.02)
    assert " GB" in memory.reason


def test_sentence_says_rate_limit_generation_range_and_time():
    forecast = Forecast(7.2e9, 23 * GB, LIMIT, 25, None, 11_400)
    assert forecast_sentence(forecast) == (
        "at +7.2 GB per generation the limit of 175 GB is reached in generation 25 "
        "(in about 3 h 10 min)"
    )
    wide = replace(forecast, between=(24, 27), seconds=None)
    assert forecast_sentence(wide).endswith("generation 25 (between 24 and 27)")
    open_end = replace(wide, between=(24, None))
    assert forecast_sentence(open_end).endswith("generation 25 (24 at the earliest)")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12, "12 s"), (600, "10 min"), (11_400, "3 h 10 min"), (7_200, "2 h"), (1e6, "12 days")],
)
def test_time_is_said_as_people_say_it(seconds, text):
    assert duration(seconds) == text
