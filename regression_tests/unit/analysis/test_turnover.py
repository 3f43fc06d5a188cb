"""What replaces the entries of old generations is no leak, though each of them left some."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Birthplace, Births, Cohort, Holder, Run
from leakguard.model.snapshot import LOOP_ENDED
from leakguard.testing import RunStory, State

MB = 1_000_000
ROUNDS, EARLIER = 16, 10


def alive(samples, *, rounds=1, each=MB / 10) -> Birthplace:
    """Return a line of whose cohorts, each of so many rounds, this many samples are alive."""
    cohorts = tuple(
        Cohort(number * rounds, rounds, count * each, 0.0, count)
        for number, count in enumerate(samples)
    )
    count = sum(samples)
    return Birthplace("work", False, count * each, 0.0, count, count, "train.py:7", "keep", cohorts)


def run(earlier: Birthplace, last: Birthplace, *others: Birthplace, at: int = EARLIER) -> Run:
    """Tell 16 generations with births at two of them, and a holder of what is alive at the last."""
    story = RunStory()
    story.baseline(State({"rss": 100 * MB, "heap_in_use": 50 * MB}))
    for n in range(1, ROUNDS + 1):
        story.generation(work=State({"rss": 100 * MB + n * MB, "heap_in_use": 50 * MB + n * MB}))
    told = story.run()
    births = {
        at: Births(earlier.bytes, 0.0, 1.0, 4_096.0, (earlier, *others)),
        ROUNDS: Births(last.bytes, 0.0, 1.0, 4_096.0, (last,)),
    }
    born = (last, *(replace(alive([1]), place=other.place) for other in others))
    holder = Holder("app.kept[*]", "app.Frame", 100, retained_bytes=int(last.bytes), born=born)

    def looked_at(snapshot):
        if snapshot.moment != "generation" or snapshot.generation not in births:
            return snapshot
        holders = (holder,) if snapshot.generation == ROUNDS else ()
        return replace(snapshot, births=births[snapshot.generation], holders=holders)

    return replace(told, snapshots=tuple(map(looked_at, told.snapshots)))


def is_told(told: Run) -> bool:
    """Return whether the container is told as a leak; memory in use grows in any case."""
    return "app.kept[*]" in {finding.held_by for finding in diagnose(told).findings}


KEPT = alive([10] * ROUNDS)
REPLACED = alive([5] * 5 + [6] * 5 + [10] * 6)


def test_memo_whose_old_entries_are_replaced_is_not_told_as_a_leak():
    assert not is_told(run(alive([10] * EARLIER), REPLACED))


def test_what_stays_is_a_leak():
    assert is_told(run(alive([10] * EARLIER), KEPT))


def test_as_uneven_a_residue_is_a_leak_if_nothing_has_died():
    assert is_told(run(alive([5] * 5 + [6] * 5), REPLACED))


def test_what_only_young_generations_lose_was_in_use():
    young = alive([10] * 5 + [40] * 5)
    assert is_told(run(young, KEPT))


def test_cohorts_of_several_rounds_are_compared_with_those_of_one():
    wider = alive([10, 10, 11, 11, 12, 20, 20, 20], rounds=2)
    assert not is_told(run(alive([10] * EARLIER), wider))


@pytest.mark.parametrize("earlier, told", [([1] * EARLIER, True), ([10] * EARLIER, False)])
def test_few_samples_show_no_deaths(earlier, told):
    assert is_told(run(alive(earlier), REPLACED)) == told


def test_samples_that_are_thinned_have_not_died():
    thinned = alive([5] * ROUNDS, each=MB / 5)
    assert is_told(run(alive([10] * EARLIER), thinned))


def test_look_after_the_loop_does_not_say_what_died_in_it():
    told = run(alive([10] * EARLIER), REPLACED)
    assert not is_told(told)
    ended = [
        replace(s, generation=None, label=LOOP_ENDED, moment="mark")
        if s.births and s.generation == EARLIER
        else s
        for s in told.snapshots
    ]
    assert is_told(replace(told, snapshots=tuple(ended)))


@pytest.mark.parametrize("is_listed", [True, False])
def test_line_that_made_little_of_it_does_not_say_what_died(is_listed):
    elsewhere = replace(alive([500] * EARLIER), place="torch/_ops.py:1247")
    told = run(alive([10] * EARLIER), KEPT, elsewhere)
    if is_listed:
        gone = replace(alive([50] * EARLIER), place=elsewhere.place)
        told = replace(
            told,
            snapshots=tuple(
                replace(s, births=replace(s.births, places=(*s.births.places, gone)))
                if s.births and s.generation == ROUNDS
                else s
                for s in told.snapshots
            ),
        )
    assert is_told(told)
