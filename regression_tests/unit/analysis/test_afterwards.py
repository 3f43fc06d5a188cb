"""Whether growth went on is asked of memory that the objects could lie in."""

from __future__ import annotations

from dataclasses import replace

from leakguard.analysis.afterwards import went_on
from leakguard.analysis.case import Case
from leakguard.analysis.growth import Growth
from leakguard.analysis.row import LedgerRow
from leakguard.testing import RunStory, State

MB = 1_000_000
RATE = 12_000
ROUNDS = 240


def case(shared) -> Case:
    """Tell a run whose memory has teeth of 9 MB, with ``shared(n)`` bytes of shared pages."""
    story = RunStory()
    for n in range(1, ROUNDS + 1):
        size = 50 * MB + RATE * n + MB * (n % 12)
        story.generation(
            work=State({"rss": size, "heap_in_use": size - 20 * MB, "rss_shared": shared(n)})
        )
    return Case(story.run())


DEFECT = LedgerRow(Growth("type", "app.Segment", "instances", since=1), bytes_rate=RATE)


def test_shared_memory_that_never_grew_does_not_say_that_objects_stopped():
    assert went_on(case(lambda n: 0), DEFECT)


def test_shared_memory_that_grew_and_stopped_says_that_objects_stopped():
    assert not went_on(case(lambda n: RATE * min(n, ROUNDS // 2)), DEFECT)


def test_shared_memory_that_goes_on_growing_confirms_the_objects():
    assert went_on(case(lambda n: RATE * n), DEFECT)


def test_rounds_that_were_passed_over_are_no_scatter():
    recorded = [*range(1, 33), 41, 60]
    story = RunStory()
    for n in recorded:
        sizes = {"python_in_use": 50 * MB + 9 * RATE * n, "heap_in_use": 20 * MB + RATE * n // 3}
        story.generation(work=State(sizes))
    uneven = story.run()
    numbers = dict(zip(range(1, len(recorded) + 1), recorded, strict=True))
    shots = (replace(s, generation=numbers.get(s.generation)) for s in uneven.snapshots)
    told = Case(replace(uneven, snapshots=tuple(shots)))
    growing = LedgerRow(Growth("type", "app.Trial", "instances", since=1), bytes_rate=2 * RATE)
    assert went_on(told, growing)


def test_memory_in_use_that_stopped_is_believed_before_rss_that_did_not():
    story = RunStory()
    for n in range(1, ROUNDS + 1):
        in_use = 50 * MB + RATE * min(n, ROUNDS // 2)
        story.generation(work=State({"rss": 90 * MB + RATE * n, "heap_in_use": in_use}))
    assert not went_on(Case(story.run()), DEFECT)
