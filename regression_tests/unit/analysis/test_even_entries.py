"""One look at the end finds each container that has a whole number of entries a generation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.case import Case
from leakguard.analysis.sources.even_entries import even_entries
from leakguard.model import Birthplace, Births, Cohort, Holder, Run
from leakguard.testing import RunStory, State

KB, MB = 1_000, 1_000_000
FRAME, FRAMES = "app.Frame", "app.tape.frames[*]"
TEXTS = "app.LOG → closure cell seen of log[*]"


def told(*, entries: int, rounds: int = 16, frames: int = 1, size: int = 100 * KB) -> Run:
    """Tell a run with looks in generations 2, 8 and the last, of which the last asks for holders.

    ``frames`` instances of the class and a text come in each; the container has ``entries``.
    """
    story = RunStory()
    for number in range(rounds + 1):
        memory = 80 * MB + number * (frames * size + 60 * KB)
        looked = number in (2, 8, rounds)
        counts = {FRAME: frames * number, "str": 9_000 + number} if looked else {}
        sizes = {FRAME: 60 * frames * number, "str": 700 * KB} if looked else {}
        metrics = {"heap_in_use": memory, "rss": memory + 40 * MB}
        state = State(metrics, counts, sizes)
        story.generation(play=state) if number else story.baseline(state)
    held = (
        Holder(FRAMES, FRAME, entries, retained_bytes=size * entries),
        Holder(TEXTS, "str", rounds, retained_bytes=60 * KB * rounds),
        Holder("app.names[*]", "str", 3 * rounds + 1, retained_bytes=400 * KB),
    )
    run = story.run()
    last = (replace(s, holders=held) if s.generation == rounds and s.moment == "generation" else s
            for s in run.snapshots)  # fmt: skip
    return replace(run, snapshots=tuple(last))


def test_each_container_is_a_leak_of_its_own_with_its_bytes():
    report = diagnose(told(entries=16))
    sizes = {finding.held_by: finding.bytes_per_generation for finding in report.findings}
    assert sizes == {FRAMES: pytest.approx(100 * KB), TEXTS: pytest.approx(60 * KB)}
    assert report.balance.rest == pytest.approx(0, abs=0.05 * report.balance.growth)


def test_container_with_as_many_entries_by_chance_is_not_told_where_its_type_did_not_rise():
    report = diagnose(told(entries=16, frames=0, size=100 * KB))
    assert FRAMES not in {finding.held_by for finding in report.findings}


def test_container_whose_entries_are_no_multiple_of_the_generations_has_no_even_course():
    held_by = {finding.held_by for finding in diagnose(told(entries=17)).findings}
    assert "app.names[*]" not in held_by


@pytest.mark.parametrize(
    ("interval", "native", "is_told"),
    [(321.0, 321.0, False), (1.0 * MB, 321.0, True), (321.0, None, True)],
)
def test_container_of_which_nothing_was_sampled_is_told_where_that_may_be_chance(
    interval, native, is_told
):
    run = told(entries=4_800, frames=300, size=400)
    assert FRAMES in {growth.name for growth in even_entries(Case(run))}
    births = Births(0.0, 0.0, 1.0, interval, native_interval=native)
    last = run.snapshots[-1]
    recorded = replace(run, snapshots=(*run.snapshots[:-1], replace(last, births=births)))
    assert (FRAMES in {growth.name for growth in even_entries(Case(recorded))}) is is_told


@pytest.mark.parametrize(("samples", "is_told"), [(20, False), (3, False), (1, True)])
def test_container_whose_entries_were_all_made_lately_is_replaced_and_does_not_grow(
    samples, is_told
):
    run = told(entries=16, frames=3)
    assert FRAMES in {finding.held_by for finding in diagnose(run).findings}
    late = (Cohort(15, 1, 1.6 * MB, 0.0, samples),)
    born = Birthplace("play", False, 1.6 * MB, 0.0, 16.0, samples, "game.py:7", "play", late)

    def replaced(snapshot):
        kept = (replace(h, born=(born,)) if h.path == FRAMES else h for h in snapshot.holders)
        return replace(snapshot, holders=tuple(kept))

    report = diagnose(replace(run, snapshots=tuple(map(replaced, run.snapshots))))
    assert (FRAMES in {finding.held_by for finding in report.findings}) is is_told


@pytest.mark.parametrize(("seen", "verdict"), [(20, "leak"), (24, "stable")])
def test_exact_counts_are_told_although_memory_is_too_noisy_to_show_their_bytes(seen, verdict):
    rounds, losses = 40, "train.losses[*]"
    looks = {1: 11, 20: 10 + seen, rounds: 50}
    story = RunStory()
    for number in range(rounds + 1):
        noise = 300 * KB * (number * 7 % 5)
        counts = {"torch.Tensor": looks[number]} if number in looks else {}
        state = State({"heap_in_use": 80 * MB + noise, "rss": 120 * MB + noise}, counts)
        story.generation(train=state) if number else story.baseline(state)
    kept = Holder(losses, "torch.Tensor", rounds, retained_bytes=5 * KB * rounds)
    *before, last = story.run().snapshots

    report = diagnose(replace(story.run(), snapshots=(*before, replace(last, holders=(kept,)))))

    assert report.verdict == verdict
    assert [finding.held_by for finding in report.findings] == [losses] * (verdict == "leak")
