"""What registers itself somewhere is held by a bound method: its owner is what is told."""

from __future__ import annotations

from dataclasses import replace

from leakguard import diagnose
from leakguard.model import Holder, Run
from leakguard.model.holder import Hop
from leakguard.testing import RunStory, State

MB = 1_000_000
ROUNDS = 40
HOOKS = "__main__.net._modules['conv']._forward_hooks[*]"
TRACE = (
    Hop("__main__", "dict"),
    Hop(".net", "app.Net"),
    Hop("._modules", "dict"),
    Hop("['conv']", "torch.nn.modules.conv.Conv2d"),
    Hop("._forward_hooks", "collections.OrderedDict"),
    Hop("[*]", "method"),
)


def run(entries: int, retained: int) -> Run:
    """Tell a run that keeps one Stats more a round, whose last look found one holder."""
    told = RunStory()
    told.baseline(State({"rss": 100 * MB, "heap_in_use": 50 * MB}, {"app.Stats": 0}))
    for n in range(1, ROUNDS + 1):
        state = State({"rss": 100 * MB + n * MB, "heap_in_use": 50 * MB + n * MB}, {"app.Stats": n})
        told.generation(evaluate=state)
    story = told.run()
    holder = Holder(HOOKS, "method", entries, retained_bytes=retained, trace=TRACE)

    def looked(snapshot):
        is_last = snapshot.moment == "generation" and snapshot.generation == ROUNDS
        return replace(snapshot, holders=(holder,) if is_last else ())

    return replace(story, snapshots=tuple(map(looked, story.snapshots)))


def test_objects_whose_hooks_are_never_removed_are_told_with_their_hooks():
    (finding,) = diagnose(run(ROUNDS, 40 * MB)).findings
    assert (finding.type, finding.held_by) == ("app.Stats", HOOKS)
    assert "handle.remove()" in finding.fix


def test_a_container_with_other_entries_is_not_blamed():
    (finding,) = diagnose(run(ROUNDS // 2, 40 * MB)).findings
    assert (finding.type, finding.held_by) == ("app.Stats", None)


def test_a_container_that_keeps_little_is_not_blamed():
    (finding,) = diagnose(run(ROUNDS, 4 * MB)).findings
    assert (finding.type, finding.held_by) == ("app.Stats", None)
