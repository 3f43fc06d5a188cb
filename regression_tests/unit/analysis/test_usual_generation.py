"""What memory gains in the usual generation, where a few generations free or take much more."""

from __future__ import annotations

import pytest

from leakguard import diagnose
from leakguard.analysis.words.headline import headline
from leakguard.model import Finding, Run
from leakguard.testing import RunStory, State

GENERATIONS = 300
LOOKS = (1, 2, 150, 300)
KB = 1_000
# What the program freed in generation 100, and took for good in generation 160.
FREED, TAKEN = 9_000 * KB, 1_000 * KB


def told(each: int, *, adds: int, looks: tuple[int, ...] = LOOKS) -> Run:
    """Tell a run with ``adds`` buffers more a generation, of ``each`` bytes, between two events."""
    story = RunStory()

    def state(n: int, number: int) -> State:
        size = n * adds * each - (FREED if n >= 100 else 0) + (TAKEN if n >= 160 else 0)
        metrics = {"heap_in_use": 80_000 * KB + size, "rss": 200_000 * KB}
        if number not in (0, *looks):
            return State(metrics, {}, {})
        return State(metrics, {"bytearray": 40 + n * adds}, {"bytearray": (40 + n * adds) * each})

    story.baseline(state(0, 0))
    for number in range(1, GENERATIONS + 1):
        story.generation(work=state(number - 1, -1), keep=state(number, number))
    return story.run()


def test_buffer_more_each_generation_is_found_although_much_else_was_freed():
    (finding,) = diagnose(told(5 * KB, adds=1)).findings
    assert (finding.verdict, finding.type, finding.phase) == ("leak", "bytearray", "keep")
    assert finding.count_per_generation == pytest.approx(1)


def test_eight_generations_tell_a_leak_although_one_of_them_freed_more_than_it_gains():
    assert verdict_of_eight(adds=1) == "leak"
    assert verdict_of_eight(adds=0) == "stable"


def verdict_of_eight(*, adds: int) -> str:
    """Judge 30 kB more in each of eight generations; the sixth frees four times as much."""
    story = RunStory()

    def state(n: int) -> State:
        metrics = {"heap_in_use": 14_000 * KB + n * adds * 30 * KB - (n >= 6) * 120 * KB}
        return State(metrics, {"app.Row": n * adds}, {"app.Row": n * adds * 30 * KB})

    story.baseline(state(0))
    for number in range(1, 9):
        story.generation(work=state(number - 1), keep=state(number))
    return diagnose(story.run()).verdict


def test_memory_that_is_freed_and_taken_once_is_no_leak():
    report = diagnose(told(5 * KB, adds=0))
    assert (report.verdict, report.findings) == ("stable", ())


@pytest.mark.parametrize(
    ("rate", "kind", "said"),
    [
        (0.04, "app.Stack", "1 more Stack every 25 generations"),
        (0.25, "threads", "1 more thread every 4 generations"),
        (1.0, "threads", "1 more thread per generation"),
        (16.0, "app.Stack", "16 more Stack per generation"),
    ],
)
def test_what_comes_seldom_is_not_rounded_to_none_a_generation(rate, kind, said):
    finding = Finding("a", "instances", "leak", "growing", "", type=kind, count_per_generation=rate)
    assert said in headline(finding)
