"""What a GPU gains is told with the holder of the tensors that lie there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder, Run
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
