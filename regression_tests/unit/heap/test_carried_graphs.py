"""A graph that one tensor carries from round to round has no container that gains entries."""

from __future__ import annotations

import pytest
from heap_engines import COMPILED, PYTHON, Engine

from leakguard.model.census import GRAPH_NODE


@pytest.fixture
def engine() -> Engine:
    return COMPILED or PYTHON


class Meter:
    def __init__(self, torch) -> None:
        self.total = torch.zeros(())

    def add(self, weights, times: int, *, detach: bool = False) -> None:
        for _ in range(times):
            loss = (weights * 2).exp().sum()
            self.total = self.total + (loss.detach() if detach else loss)


def _nodes(engine: Engine) -> int:
    return engine.census().census.count(GRAPH_NODE) or 0


def _graphs(engine: Engine) -> dict[str, object]:
    found = engine.inspect(limit=5).holders
    return {holder.path: holder for holder in found if holder.element == GRAPH_NODE}


def test_a_census_counts_the_nodes_behind_a_running_sum(engine: Engine, torch) -> None:
    weights, meter = torch.ones(3, requires_grad=True), Meter(torch)
    before = _nodes(engine)
    meter.add(weights, 200)
    # exp, mul, sum and the addition for each, and the one node of the leaf
    assert _nodes(engine) - before == 200 * 4 + 1
    meter.total = meter.total.detach()
    assert _nodes(engine) == before


def test_a_running_sum_is_told_by_the_tensor_that_holds_it(engine: Engine, torch) -> None:
    weights, meter = torch.ones(3, requires_grad=True), Meter(torch)
    meter.add(weights, 300)
    holder = _graphs(engine)[f"{__name__}.Meter.total"]
    assert holder.graph_nodes == holder.entries == 300 * 4 + 1
    assert holder.retained_bytes >= 300 * 4 * 640


def test_a_detached_sum_is_no_graph(engine: Engine, torch) -> None:
    weights, meter = torch.ones(3, requires_grad=True), Meter(torch)
    meter.add(weights, 300, detach=True)
    assert f"{__name__}.Meter.total" not in _graphs(engine)


def test_a_state_of_two_tensors_retains_what_both_hold(engine: Engine, torch) -> None:
    class Reader:
        pass

    weights, reader = torch.ones(2_000, requires_grad=True), Reader()
    reader.hidden = reader.cell = torch.zeros(2_000)
    for _ in range(100):
        mixed = (reader.hidden + weights).tanh()
        reader.hidden, reader.cell = mixed * 0.5, mixed * 2
    del mixed
    name = "test_a_state_of_two_tensors_retains_what_both_hold.<locals>.Reader"
    holder = _graphs(engine)[f"{__name__}.{name}.hidden"]
    assert holder.retained_bytes >= 100 * 8_000


def test_a_count_stops_at_its_bound(torch) -> None:
    from leakguard.capture.heap.backward import count_nodes
    from leakguard.capture.heap.frameworks import loaded

    weights, meter = torch.ones(3, requires_grad=True), Meter(torch)
    meter.add(weights, 5_000)  # deeper than Python may recurse
    framework = loaded().torch
    assert count_nodes([meter.total], framework) == 5_000 * 4 + 1
    assert count_nodes([meter.total], framework, most=1_000) == 1_000
