"""Large memory with the same contents has the same digest; what is shared has none."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap.contents import Contents
from leakguard.capture.heap.frameworks import Buffer, loaded

LARGE = 200_000


def _digest(array: object) -> str | None:
    buffer = loaded().own_buffer(array)
    assert buffer is not None
    return Contents().digest(buffer)


def _numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(LARGE // 8)


def test_copies_have_the_digest_of_their_original():
    first, copy, other = _numbers(1), _numbers(1), _numbers(2)
    assert _digest(first) == _digest(copy) != _digest(other)
    copy += 1
    assert _digest(copy) not in (None, _digest(first))


def test_arrays_that_hold_one_value_are_not_told_apart():
    assert _digest(np.zeros(LARGE)) is None
    assert _digest(np.full(LARGE, 2.5)) is None


def test_memory_that_a_file_is_behind_is_no_copy(tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, _numbers(1))
    mapped = np.load(path, mmap_mode="r")
    assert Contents().digest(Buffer("cpu", mapped.ctypes.data, mapped.nbytes)) is None
    with mmap.mmap(-1, LARGE) as shared:
        shared[:] = bytes(range(256)) * (LARGE // 256) + b"\0" * (LARGE % 256)
        address = np.frombuffer(shared, np.uint8).ctypes.data
        assert Contents().digest(Buffer("cpu", address, LARGE)) is None


@pytest.mark.parametrize("buffer", [Buffer("cuda:0", 4096, LARGE), Buffer("cpu", 4096, LARGE)])
def test_memory_that_cannot_be_read_is_unknown(buffer):
    assert Contents().digest(buffer) is None


def test_tensors_have_digests_too(torch):
    first = torch.from_numpy(_numbers(1)).clone()
    assert _digest(first) == _digest(first.clone())
    assert loaded().own_buffer(torch.nn.Parameter(first)) is None


def test_views_and_subclasses_own_nothing():
    array = _numbers(1)
    assert loaded().own_buffer(array[:10]) is None
    assert loaded().own_buffer(np.ma.masked_array(array)) is None


@each_engine
def test_inspection_lists_large_copies_with_one_digest(engine: Engine) -> None:
    kept = [_numbers(3), _numbers(3), _numbers(4)]
    found = engine.inspect(large=LARGE - 8).large
    digests = [item.digest for item in found if item.shape == kept[0].shape]
    assert len(digests) == 3
    assert len(set(digests)) == 2
