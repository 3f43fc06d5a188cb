"""Bytes on a GPU are told of the holders of the tensors that lie there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from heap_engines import Engine, engine_params

from leakguard.capture import sampled_walk
from leakguard.capture.heap import walked_graph
from leakguard.capture.heap.frameworks import loaded
from leakguard.model.census import GRAPH_NODE

MB = 1_000_000


@pytest.fixture(params=engine_params)
def engine(request) -> Engine:
    return request.param


@pytest.fixture
def on_gpu(monkeypatch, torch):
    """Let all tensors say that they lie on a GPU."""

    def told():
        frameworks = loaded()
        away = replace(
            frameworks.torch,
            is_cpu=lambda tensor: False,
            storage_device=lambda storage: "cuda:0",
            in_place=None,
        )
        return replace(frameworks, torch=away)

    monkeypatch.setattr(walked_graph, "loaded", told)
    monkeypatch.setattr(sampled_walk, "loaded", told)


class Trainer:
    def __init__(self) -> None:
        self.kept: list[object] = []
        self.hidden: object = None


def _holder(engine: Engine, path: str):
    found = engine.inspect(limit=20).holders
    return {holder.path: holder for holder in found}.get(f"{__name__}.Trainer{path}")


def test_tensors_in_a_list_and_behind_its_entries(engine: Engine, torch, on_gpu) -> None:
    trainer = Trainer()
    trainer.kept += [{"weights": torch.ones(MB // 4)} for _ in range(5)]
    shared = torch.ones(MB // 4)
    trainer.kept += [shared[:10], shared[10:]]  # two views of one storage
    del shared
    found = _holder(engine, ".kept[*]")
    assert found.device_bytes == 6 * MB
    assert found.retained_bytes < 100_000
    trainer.kept.clear()
    assert _holder(engine, ".kept[*]") is None


def test_tensors_in_host_memory_are_none_of_them(engine: Engine, torch) -> None:
    trainer = Trainer()
    trainer.kept += [torch.ones(MB // 4) for _ in range(5)]
    found = _holder(engine, ".kept[*]")
    assert found.device_bytes is None
    assert found.retained_bytes == pytest.approx(5 * MB, rel=0.05)


def test_graph_that_is_carried_along_has_what_it_saved(engine: Engine, torch, on_gpu) -> None:
    trainer, weights = Trainer(), torch.ones(300, 300, requires_grad=True)
    trainer.hidden = weights
    for _ in range(10):
        trainer.hidden = (trainer.hidden * 2).exp()
    found = _holder(engine, ".hidden")
    assert found.element == GRAPH_NODE
    # What exp made, for its own gradient, the weights that the graph ends in, and numbers.
    assert found.device_bytes == pytest.approx(11 * 360_000, rel=0.001)


def test_walk_near_a_limit_can_weigh_devices_alone(torch, on_gpu) -> None:
    trainer = Trainer()
    trainer.kept += [torch.ones(2 * MB) for _ in range(5)]
    trainer.hidden = [bytes(30_000_000)]
    found = sampled_walk.estimate({}, on_devices=True)
    assert found.holders[0].path == f"{__name__}.Trainer.kept[*]"
    assert found.holders[0].retained_bytes == pytest.approx(40 * MB, rel=0.05)
    assert 39 * MB < found.bytes < 80 * MB
    assert sampled_walk.estimate({}).holders[0].path != f"{__name__}.Trainer.kept[*]"
