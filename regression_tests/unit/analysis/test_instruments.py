"""A leak needs two instruments: one that says it twice, or in two ways, is one witness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.evidence import verdict
from leakguard.analysis.facts.measured import CountGrows, GaugeGrows, MetricToo
from leakguard.analysis.growth import Evidence, Growth
from leakguard.model import Expectation, Gauge, Run
from leakguard.testing import RunStory, State

GROWS = Evidence("gauge", GaugeGrows("pending", 1.0, None))
FLAT, RISING = 100_000_000, 5_000_000


def queue(capacity: float | None, more_memory: int) -> Run:
    """Return a run whose queue gains an entry a generation, beside memory that rises so much."""
    story = RunStory()
    for n in range(12):
        rss = FLAT + n * more_memory
        gauges = {"pending": Gauge(n + 1, capacity)}
        story.generation(work=State({"rss": rss, "heap_in_use": rss}, gauges=gauges))
    return story.run()


def promises(*outcomes: Expectation) -> Run:
    """Return a run whose generations end with these outcomes."""
    story = RunStory()
    for _ in outcomes:
        story.generation(work=State({"rss": FLAT}))
    run, told = story.run(), iter(outcomes)
    shots = (
        replace(s, expectations=(next(told),)) if s.moment == "generation" else s
        for s in run.snapshots
    )
    return replace(run, snapshots=tuple(shots))


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ((GROWS, Evidence("gauge", GaugeGrows("pending", 1.0, 5.0))), "suspect"),
        ((GROWS, Evidence("rss", MetricToo("rss"))), "leak"),
        ((Evidence("count", CountGrows(1.0)),), "suspect"),
    ],
)
def test_instruments_are_counted_and_not_what_they_measured(
    evidence: tuple[Evidence, ...], said: str
) -> None:
    assert verdict(Growth("gauge", "pending", "queue"), evidence) == said


def test_a_number_of_the_users_past_its_capacity_beside_flat_memory_is_no_leak() -> None:
    (finding,) = diagnose(queue(5, 0)).findings
    assert (finding.verdict, finding.type) == ("suspect", "pending")
    assert finding.reason == "pending grows by 1 per generation, and it is past its capacity 5"


def test_past_its_capacity_beside_memory_that_grows_it_is_one() -> None:
    findings = {finding.type: finding for finding in diagnose(queue(5, RISING)).findings}
    assert findings["pending"].verdict == "leak"


def test_without_a_capacity_it_is_a_suspect_whatever_memory_does() -> None:
    findings = {finding.type: finding for finding in diagnose(queue(None, RISING)).findings}
    assert findings["pending"].verdict == "suspect"


def test_one_object_promised_six_times_is_one_and_no_leak() -> None:
    first = Expectation("A", "kept on purpose", 1, 1)
    (finding,) = diagnose(promises(first, *[replace(first, again=1)] * 5)).findings
    assert finding.verdict == "suspect"
    assert finding.reason == (
        "1 A that should have been freed (kept on purpose) was alive after a collection, in 6 "
        "generations"
    )


def test_another_object_each_time_is_a_leak() -> None:
    (finding,) = diagnose(promises(*[Expectation("A", "replaced", 1, 1)] * 6)).findings
    assert (finding.verdict, finding.count_per_generation) == ("leak", 1.0)
    assert finding.reason.startswith("6 A that should have been freed (replaced) were alive")
