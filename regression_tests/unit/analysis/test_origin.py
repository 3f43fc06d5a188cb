"""A line is attached to a finding only where what it made agrees with what grows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis.contribution import metric_contribution
from leakguard.analysis.origin import with_origin
from leakguard.model import Cost, Finding, PhaseTotal, Run, RunInfo, Site, Snapshot
from leakguard.model.census import GRAPH_NODE

ENV = "app.Env"
LEAK = Finding(
    fingerprint="f", kind="instances", verdict="leak", pattern="growing", reason="r", type=ENV,
    count_per_generation=16.0, bytes_per_generation=8_000_000.0, held_by="app.T.envs[*]",
)  # fmt: skip


def origin(finding, *sites):
    snapshot = Snapshot(0, "s", "generation", generation=4, sites=sites)
    return with_origin(Run(RunInfo(), (snapshot,)), finding)


def site(place="leaks.py:92", count=16, held_by="app.T.envs[*]", **more):
    return Site(place, "environment", None, count, (f"{place} in environment",), "tracemalloc",
                ENV, held_by, **more)  # fmt: skip


def test_line_and_its_stack_are_attached():
    found = origin(LEAK, site())
    assert found.created_at == "leaks.py:92 in environment"
    assert found.created_stack == ("leaks.py:92 in environment",)


def test_objects_in_the_growing_container_go_before_more_objects_elsewhere():
    leak = replace(LEAK, count_per_generation=1.0, held_by="app.T.best[*]")
    found = origin(
        leak,
        site("evolve.py:10", 15, "app.T.population[*]"),
        site("leaks.py:200", 1, "app.T.best[*]"),
    )
    assert found.created_at == "leaks.py:200 in environment"


def test_as_many_survivors_as_grow_are_taken_where_their_holder_is_not_known_yet():
    # What is replaced next generation is held by the population still.
    leak = replace(LEAK, held_by="app.T.old[*]")
    found = origin(leak, site("evolve.py:10", 16, "app.T.agents[*]"), site("x.py:1", 2, None))
    assert found.created_at == "evolve.py:10 in environment"

    assert found.created_at_likely


def test_objects_inside_of_the_entries_go_before_as_many_elsewhere():
    # A copy of a state_dict in the list, and the optimizer's moments, six tensors each.
    copied = [site("stop.py:20", 6, f"app.T.envs[*][*]['{name}']") for name in ("a", "b", "c")]
    found = origin(LEAK, site("train.py:40", 16, "app.T.optimizer.state[*]"), *copied)
    assert found.created_at == "stop.py:20 in environment"
    assert not found.created_at_likely


def test_newest_of_a_chain_lies_on_the_way_to_the_rest_of_it():
    chain = replace(LEAK, held_by="app.T.env.env[*]")
    assert not origin(chain, site(held_by="app.T.env")).created_at_likely


@pytest.mark.parametrize(
    "wrong",
    [
        site(count=2, held_by="app.T.other[*]"),
        site(count=160, held_by=None),
        site(held_by="app.T.envs_of_old[*]", count=3),
        replace(site(), type="app.Other"),
        replace(site(), type=None),
    ],
)
def test_line_that_does_not_agree_is_not_attached(wrong):
    assert origin(LEAK, wrong).created_at is None


def test_lists_in_the_container_are_the_container():
    assert origin(LEAK, site(count=4, held_by="app.T.envs[*][*]")).created_at is not None


def test_what_the_entries_need_was_made_elsewhere_and_is_not_taken():
    assert origin(LEAK, site(count=4, held_by="app.T.envs[*].grad_fn")).created_at is None


def test_the_line_that_fills_the_entries_is_taken_where_the_trace_sees_their_contents_only():
    arrays = [
        replace(site("env.py:7", 3, "app.T.envs[*].state"), type="numpy.ndarray"),
        replace(site("box.py:9", 1, "app.T.envs[*].space.low"), type="numpy.ndarray"),
        replace(site("far.py:1", 900, "app.T.buffer[*]"), type="numpy.ndarray"),
    ]
    assert origin(LEAK, *arrays).created_at == "env.py:7 in environment"
    scattered = [replace(arrays[0], place=f"{n}.py:1") for n in range(4)]
    assert origin(LEAK, *scattered).created_at is None


def test_same_line_reached_on_two_ways_counts_once():
    leak = replace(LEAK, held_by=None)
    assert origin(leak, site(count=8), site(count=8)).created_at is not None


def test_bytes_are_attached_where_they_are_most_and_as_many_as_grow():
    native = replace(LEAK, kind="native", type=None, held_by=None, count_per_generation=None)
    small = Site("a.py:1", "other", 900, 9, tracer="memray")
    fits = Site("b.py:2", "call", 8_100_000, 4, tracer="memray")
    assert origin(native, small, fits).created_at == "b.py:2 in call"
    far = replace(fits, bytes=80_000_000)
    assert origin(native, small, far).created_at is None


def test_line_of_the_objects_goes_before_one_of_as_many_bytes_that_was_traced_later():
    fits = Site("b.py:2", "call", 8_100_000, 4, tracer="memray")
    shots = [Snapshot(n, "", "generation", sites=(made,)) for n, made in enumerate((site(), fits))]
    found = with_origin(Run(RunInfo(), tuple(shots)), LEAK)
    assert found.created_at == "leaks.py:92 in environment"


def test_without_a_traced_generation_nothing_is_invented():
    found = origin(LEAK)
    assert found.created_at is None
    assert "no generation was traced" in found.created_at_unknown
    assert replace(found, created_at_unknown=None) == LEAK


def test_reason_for_no_line_is_the_tracer_s_own_where_it_gave_one():
    snapshot = Snapshot(0, "s", "generation", unavailable={"created_at": "memray is not installed"})
    found = with_origin(Run(RunInfo(), (snapshot,)), LEAK)
    assert found.created_at_unknown == "memray is not installed"


def cut(*sites):
    cost = Cost(0.1, 3, 9.0, cut=True)
    return Run(RunInfo(), (Snapshot(0, "s", "generation", generation=4, sites=sites, cost=cost),))


def test_as_many_objects_are_no_sign_where_the_trace_was_cut_before_its_generation_ended():
    elsewhere = site(held_by="local rewards in learn()")
    assert origin(LEAK, elsewhere).created_at is not None
    found = with_origin(cut(elsewhere), LEAK)
    assert found.created_at is None
    assert "generation 4 took too long and was cut" in found.created_at_unknown


def test_objects_where_the_finding_is_are_a_sign_in_a_trace_that_was_cut_too():
    assert with_origin(cut(site(count=4)), LEAK).created_at == "leaks.py:92 in environment"


def test_tensors_of_a_graph_are_no_origin_of_what_holds_the_graph():
    graph = replace(LEAK, kind="autograd", held_by="app.T.losses[*]")
    behind = site("net.py:57", 16, "app.T.losses[*].grad_fn.saved_tensors")
    assert origin(graph, behind).created_at is None
    assert origin(graph, behind, site("log.py:3", 16, "app.T.losses[*]")).created_at is not None


def graph_of(**more):
    return replace(
        LEAK, kind="autograd", type=GRAPH_NODE, held_by="app.T.losses[*]",
        count_per_generation=56.0, bytes_per_generation=50_000.0, **more,
    )  # fmt: skip


def test_bytes_of_a_graph_are_of_the_line_that_made_as_many_blocks_as_it_has_nodes():
    batches = Site("train.py:65", "main", 49_000, 52, tracer="memray")
    loss = Site("net.py:30", "step", 44_500, 210, tracer="memray")
    assert origin(graph_of(), batches, loss).created_at == "net.py:30 in step"
    assert origin(graph_of(), batches).created_at is None
    assert origin(graph_of(), replace(loss, bytes=30_000)).created_at is None


def test_graph_is_told_by_the_line_of_the_entries_that_keep_it():
    entry = replace(site("train.py:41", 4, "app.T.losses[*][*]"), type="lib.Output")
    assert origin(graph_of(), entry).created_at == "train.py:41 in environment"
    behind = replace(entry, held_by="app.T.losses[*][*].grad_fn")
    assert origin(graph_of(), behind).created_at is None


def test_what_the_tracer_itself_allocates_is_no_growth_of_a_phase():
    def end(generation, grown, slowdown=None):
        return Snapshot(
            generation, f"g{generation}", "generation", generation=generation,
            metrics={"heap_in_use": grown}, entry={"heap_in_use": 0},
            phases={"train": PhaseTotal(1, 1.0, {"heap_in_use": grown})},
            cost=Cost(0.1, 3 if slowdown else 2, slowdown),
        )  # fmt: skip

    run = Run(RunInfo(), (end(1, 1_000), end(2, 900_000, slowdown=2.0), end(3, 1_000)))
    assert metric_contribution(run, "heap_in_use").by_phase == {"train": 1_000, None: 0}
    only = Run(RunInfo(), (end(2, 900_000, slowdown=2.0),))
    assert metric_contribution(only, "heap_in_use").by_phase["train"] == 900_000
