"""What follows from a leak is told with it: the threads of a pool that is kept, not beside it."""

from __future__ import annotations

from dataclasses import replace

from leakguard.analysis.consequence import joined
from leakguard.analysis.defect import Defect
from leakguard.analysis.growth import Growth
from leakguard.model import Holder
from leakguard.model.census import GRAPH_NODE

POOL, THREAD = "multiprocessing.pool.Pool", "threading.Thread"


def kept(type_name: str, rate: float, path: str | None, phase: str = "evaluate") -> Defect:
    """Return the defect of a type of which ``rate`` more are held at ``path`` each generation."""
    lead = Growth("type", type_name, "instances", type=type_name, rate=rate)
    if path is None:
        return Defect(lead, phase=phase, bytes_rate=100.0)
    held = Growth("container", path, "container", type=type_name, rate=rate)
    held = replace(held, holder=Holder(path, type_name, 10))
    return Defect(lead, container=held, phase=phase, bytes_rate=100.0)


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
    both = [kept(THREAD, 3, "threading._active[*]"), kept("app.Row", 1, "app.rows[*]")]
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
