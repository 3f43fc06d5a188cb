"""What follows from a leak is told with it: the threads of a pool that is kept, not beside it."""

from __future__ import annotations

from dataclasses import replace

from leakguard import diagnose
from leakguard.analysis.consequence import joined
from leakguard.analysis.growth import Growth
from leakguard.analysis.row import LedgerRow
from leakguard.model import Expectation, Holder, Run
from leakguard.model.census import GRAPH_NODE
from leakguard.model.holder import Hop
from leakguard.testing import RunStory, State

POOL, THREAD = "multiprocessing.pool.Pool", "threading.Thread"


def kept(type_name: str, rate: float, path: str | None, phase: str = "evaluate") -> LedgerRow:
    """Return the defect of a type of which ``rate`` more are held at ``path`` each generation."""
    lead = Growth("type", type_name, "instances", type=type_name, rate=rate)
    if path is None:
        return LedgerRow(lead, phase=phase, bytes_rate=100.0)
    held = Growth("container", path, "container", type=type_name, rate=rate)
    held = replace(held, holder=Holder(path, type_name, 10))
    return LedgerRow(lead, container=held, phase=phase, bytes_rate=100.0)


def run(kept_type: str) -> Run:
    """Tell a run that keeps one small object more a round, while memory in C gains 90 kB."""
    told = RunStory(watch={kept_type: None})
    for n in range(13):
        memory = {"rss": 10**8 + n * 90_000, "heap_in_use": 5 * 10**7 + n * 90_000}
        state = State(memory, {kept_type: n, "dict": 100}, {kept_type: 1_800 * n, "dict": 1_000})
        if n:
            told.generation(evaluate=state)
        else:
            told.baseline(state)
    story = told.run()

    def looked(snapshot):
        if snapshot.moment != "generation":
            return snapshot
        count = snapshot.generation
        trace = (Hop("app", "dict"), Hop(".kept", "list"), Hop("[*]", kept_type))
        held = Holder("app.kept[*]", kept_type, count, retained_bytes=1_800 * count, trace=trace)
        return replace(snapshot, holders=(held,))

    return replace(story, snapshots=tuple(map(looked, story.snapshots)))


def test_memory_that_the_workers_of_a_pool_take_is_told_with_the_pool():
    (finding,) = diagnose(run(POOL)).findings
    assert (finding.type, finding.held_by) == (POOL, "app.kept[*]")
    assert 80_000 < (finding.bytes_per_generation or 0) < 100_000


def test_memory_in_c_beside_other_objects_is_a_leak_of_its_own():
    assert {f.kind for f in diagnose(run("app.LedgerRow")).findings} == {"native", "instances"}


def test_threads_of_pools_that_are_kept_are_told_with_the_pools():
    threads = kept(THREAD, 3, "threading._active[*]")
    (told,) = joined([threads, kept(POOL, 1, "app.pools[*]")])
    assert (told.lead.type, told.held_by, told.bytes_rate) == (POOL, "app.pools[*]", 200.0)
    assert [growth.name for growth in told.beside] == [THREAD]


def test_threads_that_are_no_whole_number_for_each_pool_are_a_leak_of_their_own():
    both = [kept(THREAD, 2.5, "threading._active[*]"), kept(POOL, 1, "app.pools[*]")]
    assert joined(both) == both


def test_threads_of_another_phase_are_a_leak_of_their_own():
    both = [kept(THREAD, 3, "threading._active[*]", "load"), kept(POOL, 1, "app.pools[*]")]
    assert joined(both) == both


def test_threads_beside_objects_that_begin_none_are_a_leak_of_their_own():
    both = [kept(THREAD, 3, "threading._active[*]"), kept("app.LedgerRow", 1, "app.rows[*]")]
    assert joined(both) == both


def test_threads_that_the_program_keeps_itself_are_a_leak_of_their_own():
    both = [kept(THREAD, 3, "app.workers[*]"), kept(POOL, 1, "app.pools[*]")]
    assert joined(both) == both


def test_nodes_that_nothing_holds_are_told_with_the_tensors_that_keep_their_graph():
    losses = kept("torch.Tensor", 1, "app.losses[*]")
    assert losses.container is not None and losses.container.holder is not None
    graph = replace(losses.container.holder, graph_nodes=900)
    keeping = replace(losses, container=replace(losses.container, holder=graph))
    nodes = kept(GRAPH_NODE, 90, None)
    (told,) = joined([nodes, keeping])
    assert (told.held_by, told.bytes_rate) == ("app.losses[*]", 100.0)
    assert joined([nodes, losses]) == [nodes, losses]


WEAK = "weakref.ReferenceType"


def test_weak_references_that_come_with_what_is_kept_are_told_with_it():
    both = [kept(WEAK, 2, "lib.cache[*]"), kept("app.Figure", 1, "app.figures[*]")]
    (told,) = joined(both)
    assert (told.lead.type, told.held_by) == ("app.Figure", "app.figures[*]")


def test_weak_references_of_another_number_are_a_leak_of_their_own():
    both = [kept(WEAK, 2.5, "lib.cache[*]"), kept("app.Figure", 1, "app.figures[*]")]
    assert joined(both) == both


def test_cache_that_each_leaked_connection_fills_is_told_with_the_connections():
    report = diagnose(run("sqlite3.Connection"))
    (finding,) = report.findings
    assert (finding.type, finding.held_by) == ("sqlite3.Connection", "app.kept[*]")
    assert 80_000 < (finding.bytes_per_generation or 0) < 100_000
    assert (finding.retained_bytes or 0) > 12 * 80_000
    assert not any("sqlite3" in cleared.reason for cleared in report.cleared)


def promised(held_by: str) -> Run:
    """Tell the run of a kept pool whose program said that each pool would be freed."""
    told = run(POOL)
    outcome = Expectation(POOL, "replaced", 1, 1, held_by=held_by, retained_bytes=1_800)
    shots = (
        replace(s, expectations=(outcome,)) if s.moment == "generation" else s
        for s in told.snapshots
    )
    return replace(told, snapshots=tuple(shots))


def test_promise_about_what_lies_in_an_entry_of_the_holder_is_the_same_finding():
    (finding,) = diagnose(promised("app.kept[*].pool")).findings
    assert finding.held_by == "app.kept[*]"


def test_promise_about_what_is_held_elsewhere_is_told_too():
    found = {finding.held_by for finding in diagnose(promised("app.other[*].pool")).findings}
    assert found == {"app.kept[*]", "app.other[*].pool"}
