"""Runs that end in a tooth of the collector's, and leaks that lie beside or look like one."""

from __future__ import annotations

from leakguard import diagnose
from leakguard.model import Run
from leakguard.testing import RunStory, State

MB = 1_000_000
GARBAGE = 6 * MB // 10
# Generations before the collector comes, and whole ones of the run.
BEFORE, ROUNDS = 8, 29


def story(kept: int = 0, blocks: int = 800, comes: bool = True, faster: float = 1.0) -> Run:
    """Tell a run whose garbage is taken once, after generation 8, beside ``kept`` bytes each."""
    told = RunStory()
    told.baseline(State({"rss": 80 * MB}))
    waiting, made = 0.0, 1.0
    for n in range(1, ROUNDS + 1):
        came = comes and n > BEFORE
        if n == BEFORE + 1 and comes:
            waiting, made = 0.0, faster
        waiting += made
        metrics = {
            "rss": 90 * MB,
            "heap_in_use": 20 * MB + int(waiting * GARBAGE) + n * kept,
            "python_in_use": 30 * MB,
            "python_blocks": 400_000 + int(waiting * blocks),
            "gc_full_collections": 2 if came else 1,
        }
        told.generation(work=State(metrics, {"list": 1000}))
    return told.run()


def test_last_tooth_of_a_saw_that_the_collector_takes_back_is_no_leak():
    report = diagnose(story())
    assert report.verdict == "stable"
    (cleared,) = [c for c in report.cleared if c.metric == "live_memory"]
    assert cleared.pattern == "sawtooth"
    assert "since the last collection, in generation 9" in cleared.reason


def test_growth_that_no_collection_ever_took_back_is_a_leak():
    assert diagnose(story(comes=False)).verdict == "leak"


def test_native_memory_that_stays_when_the_collector_came_is_a_leak():
    assert diagnose(story(kept=GARBAGE)).verdict == "leak"


def test_memory_that_falls_without_any_python_block_is_no_garbage():
    assert diagnose(story(blocks=0)).verdict in ("leak", "suspect")


def test_growth_that_is_faster_than_the_saw_was_is_a_leak():
    assert diagnose(story(faster=3.0)).verdict == "leak"
