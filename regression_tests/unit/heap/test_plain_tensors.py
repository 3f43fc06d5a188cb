"""Plain tensors are read in place: what is read is what torch says, and of the others nothing."""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import ModuleType

import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap import frameworks
from leakguard.capture.heap import plain_tensors as plain_tensors_module
from leakguard.capture.heap.plain_tensors import PlainTensors, plain_tensors
from leakguard.capture.heap.process_copy import ProcessCopy

np = pytest.importorskip("numpy")
pytest.importorskip("leakguard.capture.heap._scan")


def _plain(torch):
    base = torch.zeros(20, 30)
    grown = torch.zeros(4)
    grown.resize_(40_000)
    return [
        base,
        torch.zeros(7, dtype=torch.complex128),
        torch.zeros(3, dtype=torch.bool),
        torch.nn.Parameter(torch.ones(50), requires_grad=False).detach(),
        grown,
        torch.ones(80, requires_grad=True).detach(),
    ]


def _others(torch):
    leaf = torch.ones(11, requires_grad=True)
    return [
        leaf,
        leaf * 2,
        torch.zeros(20, 30)[3:],
        torch.ones(60).as_subclass(type("Own", (torch.Tensor,), {})),
        torch.zeros(0),
        torch.zeros(9, device="meta"),
        torch.eye(12).to_sparse(),
        torch.zeros(5, dtype=torch.complex64).conj(),
        torch.from_numpy(np.zeros(13)),
        torch.zeros(14).share_memory_(),
        torch.quantize_per_tensor(torch.ones(15), 0.1, 0, torch.qint8),
        torch.Tensor._make_subclass(torch.Tensor, torch.zeros(16), True),
    ]


@pytest.fixture(autouse=True)
def _unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test find the layout anew."""
    monkeypatch.setattr(plain_tensors_module, "_known", {})


@pytest.fixture
def read(torch) -> PlainTensors:
    found = plain_tensors(vars(torch))
    assert found is not None
    return found


def test_memory_of_a_plain_tensor_is_its_storage(read: PlainTensors, torch) -> None:
    for tensor in _plain(torch):
        storage = tensor.untyped_storage()
        assert read.memory(tensor) == (storage.data_ptr(), storage.nbytes()), tensor


def test_of_other_tensors_nothing_is_read_in_place(read: PlainTensors, torch) -> None:
    assert [read.memory(tensor) for tensor in _others(torch)] == [None] * 12
    assert read.memory(torch.Tensor.__new__(torch.Tensor)) is None


@each_engine
def test_census_is_the_same_as_by_the_getters_of_torch(
    engine: Engine, torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()  # garbage of earlier tests may go at any moment
    weights = torch.nn.Parameter(torch.ones(2_000))
    held = [_plain(torch), _others(torch), weights, weights.detach(), weights.detach()]
    (weights * torch.ones(2_000)).sum().backward()
    engine.census()  # from then on the gradient has a Python object
    in_place = engine.census(large=100_000).census

    def without_layout() -> frameworks.Frameworks:
        found = frameworks.loaded()
        assert found.torch is not None
        return replace(found, torch=replace(found.torch, in_place=None))

    module = import_module("leakguard.capture.heap.census")
    monkeypatch.setattr(module, "loaded", without_layout)
    by_getters = engine.census(large=100_000).census
    assert in_place.tensors == by_getters.tensors
    assert in_place.large == by_getters.large
    names = ("torch.Tensor", "torch.nn.parameter.Parameter")
    counted, sized = ([found.types[name] for name in names] for found in (in_place, by_getters))
    assert [one.count for one in counted] == [one.count for one in sized]
    # A gradient is of its own class or of its parameter's, but its bytes are the same.
    assert sum(one.bytes or 0 for one in counted) == sum(one.bytes or 0 for one in sized)
    assert len(held) == 5


def test_layout_is_found_without_the_code_of_a_dispatch_mode(torch) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    called = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            called.append(function)
            return function(*args, **(kwargs or {}))

    with Mode():
        assert plain_tensors(vars(torch)) is not None
    assert called == []


def test_torch_that_tells_less_of_its_tensors_is_read_by_its_getters(torch) -> None:
    core = ModuleType("torch._C")
    vars(core).update(vars(torch._C))
    del core._dispatch_keys
    assert plain_tensors({**vars(torch), "_C": core}) is None


def test_storage_of_another_layout_is_refused(torch, monkeypatch: pytest.MonkeyPatch) -> None:
    from leakguard.capture.heap import _scan

    def moved(address: int, count: int) -> tuple[int, ...]:
        found = _scan.words(address, count)
        return (*found[:3], 7, *found[3:-1]) if count == 9 else found

    monkeypatch.setattr(_scan, "words", moved, raising=True)
    assert plain_tensors(vars(torch)) is None


def test_copy_of_the_process_makes_no_tensor(torch) -> None:
    """A new tensor is memory of the C allocator, whose lock another thread may have held."""
    copy = partial(ProcessCopy.begin, seconds=30.0, memory=256_000_000)
    assert copy(lambda: repr(plain_tensors(vars(torch))).encode()).answer() == b"None"
    plain_tensors_module.prepare()
    known = plain_tensors(vars(torch))
    assert copy(lambda: repr(plain_tensors(vars(torch))).encode()).answer() == repr(known).encode()


def test_torch_that_is_being_imported_is_looked_at_again_later(torch) -> None:
    early = {name: value for name, value in vars(torch).items() if name != "empty"}
    with pytest.raises(KeyError):
        plain_tensors(early)
    assert plain_tensors(vars(torch)) is not None
