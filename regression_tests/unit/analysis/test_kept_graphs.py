"""A backward graph that is carried from round to round, in a run of which two looks are known."""

from __future__ import annotations

from dataclasses import replace

from leakguard import diagnose
from leakguard.model import Holder, Run
from leakguard.model.census import GRAPH_NODE, Census, TypeCount
from leakguard.testing import RunStory, State

MB = 1_000_000
ROUNDS = 60


def run(*, nodes: int, retained: int, gain: int = 30_000) -> Run:
    """Tell a run of short rounds whose first and last end were looked at; 40 nodes are normal."""
    told = RunStory()
    told.baseline(State({"rss": 100 * MB, "heap_in_use": 50 * MB}, {}))
    for n in range(1, ROUNDS + 1):
        size = n * gain
        told.generation(train=State({"rss": 100 * MB + size, "heap_in_use": 50 * MB + size}, {}))
    story = told.run()
    ends = {1: _seen(40, 30_000), ROUNDS: _seen(nodes, retained)}

    def looked(snapshot):
        at_end = snapshot.moment == "generation"
        census, holders = ends.get(snapshot.generation if at_end else 0, (None, ()))
        return replace(snapshot, census=census, holders=holders)

    return replace(story, snapshots=tuple(map(looked, story.snapshots)))


def _seen(nodes: int, retained: int) -> tuple[Census, tuple[Holder, ...]]:
    census = Census({GRAPH_NODE: TypeCount(nodes, 640 * nodes), "dict": TypeCount(9, 900)})
    holder = Holder(
        "app.meter.total", GRAPH_NODE, nodes, retained_bytes=retained, graph_nodes=nodes
    )
    return census, (holder,)


def test_a_running_sum_is_an_autograd_leak_with_the_tensor_that_holds_it():
    (finding,) = diagnose(run(nodes=2_990, retained=1_900_000)).findings
    assert (finding.kind, finding.verdict) == ("autograd", "leak")
    assert (finding.held_by, finding.type) == ("app.meter.total", GRAPH_NODE)
    assert (finding.phase, finding.count_per_generation) == ("train", 50)
    assert "total += loss.item()" in finding.fix


def test_list_of_the_tensors_is_named_and_not_the_object_that_has_it():
    told = run(nodes=2_990, retained=1_900_000)
    common = {"retained_bytes": 1_900_000, "graph_nodes": 2_990}
    around = Holder("local model in fit()[*]", "dict", 36, **common)
    losses = Holder("app.Net.losses[*]", "torch.Tensor", 192, traits=("graphs",), **common)
    ends = [replace(s, holders=(around, losses)) if s.holders else s for s in told.snapshots]
    (finding,) = diagnose(replace(told, snapshots=tuple(ends))).findings
    assert (finding.kind, finding.held_by) == ("autograd", "app.Net.losses[*]")


def test_a_graph_as_long_as_at_the_start_is_not_blamed_for_native_memory():
    (finding,) = diagnose(run(nodes=42, retained=1_900_000)).findings
    assert (finding.kind, finding.held_by) == ("native", None)


def test_a_graph_too_small_for_what_memory_gained_is_not_blamed_for_it():
    kinds = {f.kind for f in diagnose(run(nodes=2_990, retained=50_000, gain=400_000)).findings}
    assert "native" in kinds


def test_a_long_graph_in_a_run_whose_memory_is_flat_is_silent():
    assert diagnose(run(nodes=42, retained=1_900_000, gain=0)).findings == ()


def carried(phase: str) -> Run:
    """Tell a run whose nodes become more in ``train``, and memory in C far more in ``phase``."""
    told, base = RunStory(), {"rss": 100 * MB, "heap_in_use": 50 * MB}
    told.baseline(State(base, {GRAPH_NODE: 0}, {GRAPH_NODE: 0}))
    for n in range(1, 13):
        before = {name: value + (n - 1) * 9 * MB for name, value in base.items()}
        after = {name: value + n * 9 * MB for name, value in base.items()}
        nodes = {GRAPH_NODE: 900 * n}, {GRAPH_NODE: 900 * n * 640}
        first = after if phase == "train" else before
        told.generation(train=State(first, *nodes), decode=State(after, *nodes))
    story = told.run()
    holder = Holder("app.net.state", GRAPH_NODE, 900 * 12, retained_bytes=MB, graph_nodes=900 * 12)

    def looked(snapshot):
        is_last = snapshot.moment == "generation" and snapshot.generation == 12
        return replace(snapshot, holders=(holder,) if is_last else ())

    return replace(story, snapshots=tuple(map(looked, story.snapshots)))


def test_what_c_code_saved_for_a_graph_is_told_with_the_graph_of_the_same_phase():
    (finding,) = diagnose(carried("train")).findings
    assert (finding.kind, finding.phase) == ("autograd", "train")
    assert finding.bytes_per_generation >= 8 * MB
    assert "hidden.detach()" in finding.fix


def test_what_c_code_keeps_in_another_phase_is_a_leak_of_its_own():
    kinds = {(f.kind, f.phase) for f in diagnose(carried("decode")).findings}
    assert ("native", "decode") in kinds


def beside_tensors(nodes_held: int) -> Run:
    """Tell a run whose tensors and nodes become more, and the last look's holder of nodes."""
    told = RunStory()
    for n in range(13):
        memory = {"rss": 100 * MB + n * MB, "heap_in_use": 50 * MB + n * MB}
        counts = {"torch.Tensor": 10 + 2 * n, GRAPH_NODE: 13 * n}
        sizes = {"torch.Tensor": n * MB, GRAPH_NODE: 640 * 13 * n}
        state = State(memory, counts, sizes)
        if n:
            told.generation(validate=state)
        else:
            told.baseline(state)
    story = told.run()
    held = Holder("app.meter.trend", GRAPH_NODE, nodes_held, retained_bytes=9 * MB,
                  graph_nodes=nodes_held)  # fmt: skip
    last = replace(story.snapshots[-1], holders=(held,))
    return replace(story, snapshots=(*story.snapshots[:-1], last))


def test_tensors_whose_graph_becomes_longer_are_told_as_the_graph_with_what_holds_it():
    (finding,) = diagnose(beside_tensors(13 * 12)).findings
    assert (finding.kind, finding.type) == ("autograd", GRAPH_NODE)
    assert (finding.held_by, finding.count_per_generation) == ("app.meter.trend", 13)


def test_holder_of_a_small_graph_is_not_blamed_for_tensors_that_become_more():
    (finding,) = diagnose(beside_tensors(14)).findings
    assert (finding.kind, finding.held_by) == ("tensors", None)
