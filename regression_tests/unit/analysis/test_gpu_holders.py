"""What a GPU gains is told with the holder of the tensors that lie there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder, Run
from leakguard.model.births import Birthplace, Cohort
from leakguard.testing import RunStory, State

MB = 1_000_000
ROUNDS = 20
ADAM = "torch.optim.adam.Adam"


def run(on_device: int | None, *, gain: int = 4 * MB, capacity: int | None = None) -> Run:
    """Tell a run that keeps an optimizer a round, with so many bytes on a GPU by the holder."""
    told = RunStory()
    told.baseline(_state(0, gain))
    for n in range(1, ROUNDS + 1):
        told.generation(train=_state(n - 0.5, gain), keep=_state(n, gain))

    def looked(snapshot):
        n = snapshot.generation or 0
        if snapshot.moment != "generation":
            return snapshot
        size = None if on_device is None else n * on_device
        holder = Holder(
            "trainer.kept[*]", ADAM, n, before=n - 1, streak=n, retained_bytes=6_000 * n,
            capacity=capacity, device_bytes=size,
        )  # fmt: skip
        return replace(snapshot, holders=(holder,))

    story = told.run()
    return replace(story, snapshots=tuple(map(looked, story.snapshots)))


def _state(rounds: float, gain: int) -> State:
    done, host = int(rounds), int(rounds) * 6_000
    gpu = 80 * MB + done * gain
    metrics = {"rss": 900 * MB + host, "heap_in_use": 500 * MB + host}
    return State(metrics | {"gpu_allocated": gpu, "gpu_reserved": gpu + 20 * MB}, {ADAM: 3 + done})


def test_bytes_on_a_gpu_are_told_with_their_holder_and_once():
    (finding,) = diagnose(run(4 * MB)).findings
    assert (finding.verdict, finding.kind, finding.type) == ("leak", "instances", ADAM)
    assert finding.held_by == "trainer.kept[*]"
    assert finding.bytes_per_generation == pytest.approx(4 * MB, rel=0.05)


@pytest.mark.parametrize("on_device", [None, MB])
def test_holder_that_keeps_little_of_it_does_not_explain_it(on_device):
    kinds = {finding.kind for finding in diagnose(run(on_device)).findings}
    assert kinds == {"instances", "gpu"}


def test_buffer_that_fills_on_a_gpu_is_no_leak():
    assert diagnose(run(4 * MB, capacity=1_000)).verdict == "stable"
    assert diagnose(run(None, capacity=1_000)).verdict == "leak"


# One look at the end, as in short runs; births say that the loop made what lies on the GPU.
FEW = (1, 9, 15)  # rounds that were sampled, too few to show that each left as much


def seen_once(
    entries: int,
    *,
    before_loop: bool = False,
    capacity: int | None = None,
    device: int = 4 * MB,
    host_gain: int = 0,
    sampled: Sequence[int] = range(ROUNDS),
) -> Run:
    """Tell a run whose one look found a container of tensors with their births on a GPU."""
    told = RunStory()
    told.baseline(_tensors(0, host_gain))
    for n in range(1, ROUNDS + 1):
        told.generation(keep=_tensors(n, host_gain))
    cohorts = [Cohort(-1 if before_loop else n, 1, device, 0.0, 1) for n in sampled]
    born = replace(_born("train.py:7", cohorts), device=True)
    holder = Holder(
        "trainer.kept[*]", "torch.Tensor", entries, retained_bytes=600 * entries,
        capacity=capacity, device_bytes=ROUNDS * device, born=(born,),
    )  # fmt: skip
    shown = _born("show.py:3", [Cohort(n, 1, host_gain, 0.0, 1) for n in range(ROUNDS)])
    other = Holder(
        "gallery[*]", "torch.Tensor", ROUNDS, retained_bytes=host_gain * ROUNDS, born=(shown,)
    )
    story = told.run()
    last = story.snapshots[-1]
    looked = replace(last, holders=(holder, other) if host_gain else (holder,))
    return replace(story, snapshots=(*story.snapshots[:-1], looked))


def _born(place: str, cohorts: list[Cohort]) -> Birthplace:
    size, count = sum(cohort.bytes for cohort in cohorts), len(cohorts)
    return Birthplace("keep", False, size, 0.0, count, count, place, "keep", tuple(cohorts))


def _tensors(done: int, host_gain: int) -> State:
    metrics = {"rss": 900 * MB + done * host_gain, "heap_in_use": 500 * MB + done * host_gain}
    gpu = 80 * MB + done * 4 * MB
    return State(metrics | {"gpu_allocated": gpu, "gpu_reserved": gpu + 20 * MB})


def test_births_on_a_gpu_name_the_container_that_no_count_shows():
    (finding,) = diagnose(seen_once(ROUNDS)).findings
    assert (finding.verdict, finding.type) == ("leak", "torch.Tensor")
    assert finding.held_by == "trainer.kept[*]"
    assert (finding.phase, finding.created_at) == ("keep", "train.py:7 in keep")
    assert finding.bytes_per_generation == pytest.approx(4 * MB, rel=0.05)


def test_container_whose_tensors_are_from_before_the_loop_does_not_hold_the_growth():
    (finding,) = diagnose(seen_once(ROUNDS, before_loop=True)).findings
    assert (finding.kind, finding.held_by) == ("gpu", None)


def test_bound_that_is_passed_by_far_is_none():
    (finding,) = diagnose(seen_once(ROUNDS, capacity=ROUNDS // 4, sampled=FEW)).findings
    assert (finding.verdict, finding.held_by) == ("leak", "trainer.kept[*]")
    assert diagnose(seen_once(ROUNDS, capacity=2 * ROUNDS)).verdict == "stable"


def test_tensors_on_the_host_do_not_take_over_what_a_gpu_gained():
    told = diagnose(seen_once(ROUNDS, host_gain=3 * MB, sampled=FEW)).findings
    assert {finding.held_by for finding in told} == {"trainer.kept[*]", "gallery[*]"}
