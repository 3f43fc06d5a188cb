"""Backward graphs are memory too: it is told who keeps them, and no hook runs meanwhile."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref

import pytest
from heap_engines import COMPILED, PYTHON, Engine

from leakguard.capture.heap import adapters, frameworks

engine_here = COMPILED or PYTHON


@pytest.fixture
def engine() -> Engine:
    return engine_here


class Losses:
    def __init__(self) -> None:
        self.kept: list[object] = []


def _holder(engine: Engine, limit: int = 400):
    found = engine.inspect(limit=limit).holders
    return {holder.path: holder for holder in found}[f"{__name__}.Losses.kept[*]"]


def test_saved_tensors_are_retained_by_the_list_of_losses(engine: Engine, torch) -> None:
    losses = Losses()
    weights = torch.ones(10_000, requires_grad=True)
    for _ in range(20):
        losses.kept.append((weights * 2).exp().sum())
    found = _holder(engine)
    assert found.element == "torch.Tensor"
    assert found.retained_bytes == pytest.approx(20 * 40_000, rel=0.10)
    assert found.graph_nodes == 20 * 3 + 1  # sum, exp, mul, and the one node of the leaf


def test_a_detached_loss_retains_no_graph(engine: Engine, torch) -> None:
    losses = Losses()
    weights = torch.ones(100_000, requires_grad=True)
    losses.kept += [(weights * 2).exp().sum().detach() for _ in range(20)]
    losses.kept.append(bytearray(200_000))
    found = _holder(engine)
    assert found.graph_nodes is None
    assert found.retained_bytes < 220_000


def test_storage_saved_twice_counts_once(engine: Engine, torch) -> None:
    losses = Losses()
    weights = torch.ones(50_000, requires_grad=True)
    shared = weights.exp()
    losses.kept += [shared.sin().sum(), shared.cos().sum()]
    del shared
    found = _holder(engine)
    assert found.retained_bytes == pytest.approx(200_000, rel=0.05)


def test_a_graph_that_was_used_retains_only_its_nodes(engine: Engine, torch) -> None:
    losses = Losses()
    weights = torch.ones(50_000, requires_grad=True)
    losses.kept.append((weights * 2).exp().sum())
    losses.kept[0].backward()
    losses.kept.append(bytearray(200_000))
    assert _holder(engine).retained_bytes < 210_000


def test_a_torch_that_tells_no_raw_tensors_has_them_unpacked(
    engine: Engine, torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frameworks, "_TELLS_SAVED", (1_000,))
    losses, used = Losses(), Losses()
    weights = torch.ones(10_000, requires_grad=True)
    losses.kept += [(weights * 2).exp().sum() for _ in range(20)]
    used.kept.append((weights * 2).exp().sum())
    used.kept[0].backward()
    assert _holder(engine).retained_bytes == pytest.approx(20 * 40_000, rel=0.10)


def test_holder_of_more_nodes_than_are_followed_is_told(
    engine: Engine, torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "MOST_NODES", 70)
    losses = Losses()
    weights = torch.ones(10_000, requires_grad=True)
    losses.kept += [(weights * 2).exp().sum() for _ in range(50)]
    found = _holder(engine)
    assert (found.element, found.entries) == ("torch.Tensor", 50)
    assert found.graph_nodes is not None
    assert 50 < found.graph_nodes < 150


def test_no_unpack_hook_runs_and_what_was_packed_is_counted(engine: Engine, torch) -> None:
    ran = []

    def pack(tensor):
        return ("packed", tensor.detach().clone())

    def unpack(packed):
        ran.append("unpack")
        return packed[1]

    losses = Losses()
    weights = torch.ones(50_000, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        losses.kept.append((weights * 2).exp().sum())
    found = _holder(engine)
    assert ran == []
    assert found.retained_bytes >= 200_000


def test_functions_written_in_python_are_followed(engine: Engine, torch) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            doubled = values * 2
            ctx.save_for_backward(doubled.clone())
            return doubled

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    losses = Losses()
    weights = torch.ones(50_000, requires_grad=True)
    losses.kept.append(Double.apply(weights).sum())
    assert _holder(engine).retained_bytes == pytest.approx(200_000, rel=0.05)


def test_a_census_leaves_no_tensor_behind(engine: Engine, torch) -> None:
    losses = Losses()
    weights = torch.ones(1000, requires_grad=True)
    losses.kept += [(weights * 2).exp().sin().sum() for _ in range(50)]
    before = _tensors(torch)
    engine.census()
    assert _tensors(torch) == before


def test_tensors_that_a_deep_look_met_die_with_their_graph(engine: Engine, torch) -> None:
    losses = Losses()
    weights = torch.ones(1000, requires_grad=True)
    before = _tensors(torch)
    losses.kept += [(weights * 2).exp().sin().sum() for _ in range(50)]
    engine.inspect()
    losses.kept.clear()
    assert _tensors(torch) == before


def _tensors(torch) -> int:
    gc.collect()
    return sum(type(item) is torch.Tensor for item in gc.get_objects())


def test_the_graph_is_freed_with_its_loss(engine: Engine, torch) -> None:
    weights = torch.ones(1000, requires_grad=True)
    loss = (weights * 2).exp().sum()
    watcher = weakref.ref(loss)
    engine.inspect(targets=[loss])
    del loss
    assert watcher() is None


def test_parameters_gradients_and_optimizer_state_belong_to_their_module(
    engine: Engine, torch
) -> None:
    class Agent:
        def __init__(self) -> None:
            self.network = torch.nn.Linear(500, 500, bias=False)
            self.optimizer = torch.optim.Adam(self.network.parameters())

    agents = [Agent() for _ in range(2)]
    for agent in agents:
        agent.network(torch.ones(1, 500)).sum().backward()
        agent.optimizer.step()
    found = engine.inspect(large=3_000_000).large
    told = [e.retained_bytes for e in found if e.type.endswith("Agent")]
    assert told == [pytest.approx(4 * 500 * 500 * 4, rel=0.02)] * 2


RELEASE = """
import torch
from leakguard.capture import heap
from leakguard.capture.allocator import allocator_memory

class Losses:
    pass

def loss(layers):
    values = torch.ones(16, 16)
    for layer in layers:
        values = torch.relu(layer(values))
    return values.pow(2).mean()

def main():
    layers = [torch.nn.Linear(16, 16) for _ in range(3)]
    losses = Losses()
    losses.kept = [loss(layers) for _ in range(300)]
    found = heap.inspect(limit=30).holders
    told = [holder.retained_bytes for holder in found if holder.path.endswith("Losses.kept[*]")]
    before = allocator_memory()["heap_in_use"]
    losses.kept.clear()
    print(told[0], before - allocator_memory()["heap_in_use"])

torch.set_num_threads(1)
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measured with glibc's mallinfo2")
def test_small_graphs_release_what_was_told_within_ten_percent(torch) -> None:
    """Their C++ nodes are larger than their tensors."""
    out = subprocess.run(
        [sys.executable, "-c", RELEASE],
        env={**os.environ, "PYTHONMALLOC": "malloc"},
        capture_output=True,
        text=True,
        check=True,
    )
    told, released = map(int, out.stdout.split())
    assert told == pytest.approx(released, rel=0.10)


def test_views_of_what_is_no_leaf_are_named_without_a_warning_of_torch(torch, recwarn) -> None:
    from leakguard.capture.heap.hops import _adapted

    product = torch.ones(1_000, requires_grad=True) * 2
    view = product[10:]
    assert _adapted(view, product) == "._base"
    assert [str(warning.message) for warning in recwarn] == []


def test_hooks_of_a_tensor_have_their_name(torch) -> None:
    from leakguard.capture.heap.hops import _adapted

    weight = torch.ones(3, requires_grad=True)
    weight.register_hook(lambda gradient: gradient)
    assert _adapted(weight, weight._backward_hooks) == "._backward_hooks"
