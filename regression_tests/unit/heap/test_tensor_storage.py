"""Tensor memory is counted once, whoever shares it, and no tensor subclass runs its code."""

from __future__ import annotations

import gc

import pytest
from heap_engines import Engine, each_engine

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def _no_garbage() -> None:
    """Collect what earlier tests left in cycles: arrays among it would go at any moment."""
    gc.collect()


def _array_bytes(engine: Engine) -> int:
    found = engine.census().census.arrays
    assert found is not None
    return found.bytes


def _tensors(engine: Engine) -> tuple[int, int, int]:
    found = engine.census().census.tensors.get("cpu")
    return (found.objects, found.storages, found.bytes) if found else (0, 0, 0)


@each_engine
def test_views_and_expanded_tensors_share_one_storage(engine: Engine, torch) -> None:
    before = _tensors(engine)
    weights = torch.zeros(250_000)
    held = [weights, weights[10:], weights.view(500, 500), weights[:1].expand(10**9)]
    after = _tensors(engine)
    assert [now - then for now, then in zip(after, before, strict=True)] == [4, 1, 1_000_000]
    assert len(held) == 4


@each_engine
def test_memory_shared_with_numpy_is_counted_once(engine: Engine, torch) -> None:
    arrays, tensors = _array_bytes(engine), _tensors(engine)
    panel = np.zeros(500_000)
    inside = torch.from_numpy(panel[1000:])
    back = torch.zeros(10_000).numpy()
    more_arrays, more_tensors = _array_bytes(engine), _tensors(engine)
    assert more_arrays - arrays == panel.nbytes
    assert more_tensors[2] - tensors[2] == back.nbytes
    assert len(inside) > 0


@each_engine
def test_meta_tensors_take_no_memory(engine: Engine, torch) -> None:
    before = _tensors(engine)
    ghost = torch.empty(10**9, device="meta")
    assert _tensors(engine)[2] == before[2]
    assert ghost.nbytes == 4 * 10**9


@each_engine
def test_gradients_count(engine: Engine, torch) -> None:
    layer = torch.nn.Linear(300, 300, bias=False)
    before = _tensors(engine)
    layer(torch.ones(1, 300)).sum().backward()
    assert _tensors(engine)[2] - before[2] == 300 * 300 * 4


@each_engine
def test_sparse_tensors_count_their_parts(engine: Engine, torch) -> None:
    before = _tensors(engine)
    sparse = torch.eye(100).to_sparse()
    assert _tensors(engine)[2] - before[2] == 100 * (2 * 8 + 4)
    assert sparse.is_sparse


@each_engine
def test_tensor_subclasses_run_none_of_their_code(engine: Engine, torch) -> None:
    touched = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            touched.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    kept = torch.zeros(5000).as_subclass(Watched)
    touched.clear()
    engine.census(large=10_000)
    engine.inspect(targets=[kept], large=10_000)
    assert touched == []
