"""Array and tensor memory is counted once, whoever shares it."""

from __future__ import annotations

import mmap

import pytest
from heap_engines import Engine, each_engine

np = pytest.importorskip("numpy")

MEGABYTES_8 = 1_000_000


def _arrays(engine: Engine) -> tuple[int, int, int]:
    found = engine.census().census.arrays
    assert found is not None
    return found.objects, found.storages, found.bytes


@each_engine
def test_the_owner_behind_a_view_is_found_once(engine: Engine) -> None:
    before = _arrays(engine)
    view = np.zeros(MEGABYTES_8)[3:8]  # nobody else knows the 8 MB
    again = view[1:]
    after = _arrays(engine)
    assert [now - then for now, then in zip(after, before, strict=True)] == [3, 1, 8 * MEGABYTES_8]
    assert again.base is view.base


@each_engine
def test_a_broadcast_array_is_as_large_as_what_it_repeats(engine: Engine) -> None:
    before = _arrays(engine)
    wide = np.broadcast_to(np.ones(1), 10**9)
    after = _arrays(engine)
    assert wide.nbytes == 8 * 10**9
    assert after[2] - before[2] == 8


@each_engine
def test_arrays_over_bytes_and_files_add_no_memory(engine: Engine, tmp_path) -> None:
    path = tmp_path / "panel.bin"
    path.write_bytes(bytes(80_000))
    before = engine.census().census
    over_bytes = np.frombuffer(b"x" * 50_000, dtype=np.uint8)
    mapped = np.memmap(path, dtype=np.float64, mode="r")
    with path.open("rb") as file:
        raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    over_map = np.frombuffer(raw, dtype=np.uint8)
    after = engine.census().census
    assert after.arrays.bytes == before.arrays.bytes
    assert after.mapped.bytes - before.mapped.bytes == 2 * 80_000
    assert len(over_bytes) + len(mapped) + len(over_map) > 0


@each_engine
def test_elements_of_object_arrays_are_counted_even_in_cycles(engine: Engine) -> None:
    class Cell:
        pass

    grid = np.empty(3, dtype=object)
    grid[:] = [Cell(), Cell(), grid]
    assert engine.census({"cells": Cell}).watched == {"cells": 2}
    grid[2] = None  # or it would never be freed


@each_engine
def test_large_arrays_are_described(engine: Engine) -> None:
    panel = np.zeros((1000, 700), dtype=np.float32)
    found = [e for e in engine.census(large=2_000_000).census.large if e.bytes == panel.nbytes]
    assert [(e.type, e.shape, e.dtype, e.device) for e in found] == [
        ("numpy.ndarray", (1000, 700), "float32", "cpu")
    ]


class Marked(np.ndarray):
    """A subclass that lies about itself."""

    @property
    def base(self):
        raise AssertionError("user code was run")

    @property
    def __array_struct__(self):
        raise AssertionError("user code was run")


def _structured() -> object:
    made = np.zeros(3, dtype=[("name", object), ("size", "f8")])
    made["name"][0] = "x" * 5_000
    return made


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda: np.zeros((3, 4), dtype=np.float32), 48),
        (lambda: np.asfortranarray(np.zeros((30, 4))), 960),
        (lambda: np.zeros((5, 0, 7)), 0),
        (lambda: np.array(3.5), 8),
        (lambda: np.zeros(9, dtype="datetime64[s]"), 72),
        (lambda: np.array(["ab", "c"]), 16),
        (_structured, 48),
        (lambda: np.ndarray.__new__(Marked, 25), 200),
    ],
    ids=["row", "fortran", "empty", "scalar", "dates", "texts", "structured", "subclass"],
)
@each_engine
def test_memory_of_arrays_of_every_kind_is_theirs(engine: Engine, make, size: int) -> None:
    before = _arrays(engine)
    made = [make() for _ in range(3)]
    after = _arrays(engine)
    changes = [now - then for now, then in zip(after, before, strict=True)]
    assert changes == [3, 3 if size else 0, 3 * size]
    assert len(made) == 3


@each_engine
def test_many_small_arrays_are_retained_by_their_list(engine: Engine) -> None:
    made = {"rows": [np.arange(6, dtype=np.float32) for _ in range(20_000)]}
    found = engine.inspect(limit=40)
    (rows,) = (h for h in found.holders if h.entries == 20_000 and "rows" in h.path)
    own = made["rows"][0].__sizeof__()  # with 16 bytes for its shape and strides
    assert rows.bytes == pytest.approx(20_000 * own, rel=0.15)
