"""One small object a generation: a note where it is kept, a leak where each keeps the last one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder
from leakguard.testing import RunStory, State

SPAN = "app.Span"


@pytest.mark.parametrize(("traits", "verdict"), [(("chain",), "leak"), ((), "stable")])
def test_one_small_object_a_generation_leaks_where_each_keeps_the_one_before(traits, verdict):
    story = RunStory()

    def state(n: int) -> State:
        return State(
            {"heap_in_use": 50_000_000 + 250 * n, "rss": 90_000_000}, {SPAN: n}, {SPAN: 250 * n}
        )

    story.baseline(state(0))
    for generation in range(1, 31):
        story.generation(load=state(generation))
    run = story.run()
    snapshots = [
        replace(s, holders=(holder(s.generation, traits),)) if s.moment == "generation" else s
        for s in run.snapshots
    ]
    assert diagnose(replace(run, snapshots=tuple(snapshots))).verdict == verdict


def holder(n: int, traits: tuple[str, ...]) -> Holder:
    return Holder(
        "app.current.parent[*]", SPAN, n, n - 1, n - 1, retained_bytes=250 * n, traits=traits
    )
