"""A holder is cut in a copy, what comes free is measured, and nobody outside of it notices."""

from __future__ import annotations

import contextvars
import sys
import weakref

import pytest

from leakguard.capture import heap
from leakguard.capture.heap import ENGINE

pytestmark = pytest.mark.skipif(
    ENGINE != "compiled" or not sys.platform.startswith("linux"),
    reason="processes are copied by the compiled scan, on Linux",
)
MEGABYTE = 1_000_000
_BLOCK = 16  # bytes; Python's pools hand out multiples of it


class Kept:
    """An instance of the program, which may be part of a cycle."""

    def __init__(self):
        self.payload = bytes(MEGABYTE)
        self.me = self

    def bound(self):
        """A method to be called."""


class Shared:
    """Holds what others hold too."""


held: object = None


@pytest.fixture(autouse=True)
def _empty():
    yield
    globals()["held"] = None


def _proved(value):
    globals()["held"] = value
    return heap.prove(f"{__name__}.held[*]")


def test_what_is_told_comes_free():
    proof = _proved([bytes(MEGABYTE) for _ in range(20)])

    assert proof.refused is None
    assert proof.told == pytest.approx(20 * MEGABYTE, rel=0.01)
    assert proof.released == pytest.approx(proof.told, rel=0.05)


def test_table_of_a_set_comes_free_with_what_is_in_it():
    texts = {f"{number:0200}" for number in range(50_000)}
    blocks = (-(-sys.getsizeof(text) // _BLOCK) * _BLOCK for text in texts)
    size = sys.getsizeof(texts) + sum(blocks)

    proof = _proved(texts)

    assert proof.released == pytest.approx(size, rel=0.01)


def test_cycles_come_free_too():
    proof = _proved({number: Kept() for number in range(20)})

    assert proof.released == pytest.approx(20 * MEGABYTE, rel=0.05)


def test_what_somebody_else_holds_does_not_come_free():
    payload = [bytes(MEGABYTE) for _ in range(20)]

    proof = _proved(list(payload))

    assert proof.released < MEGABYTE


def test_nothing_is_cut_in_the_process_itself():
    value = [bytes(MEGABYTE) for _ in range(5)]

    _proved(value)

    assert len(value) == 5


class Farewell:
    """Writes a file when it goes."""

    def __init__(self, path):
        self.path = path

    def __del__(self):
        self.path.write_text("gone")


def test_finalizer_does_not_run_in_the_copy(tmp_path):
    path = tmp_path / "farewell"

    proof = _proved([[Farewell(path)]])

    assert "Farewell" in proof.refused
    assert proof.released is None
    assert not path.exists()


def test_open_file_is_not_closed_in_the_copy(tmp_path):
    path = tmp_path / "open"
    files = [path.open("w"), *map(str, range(1000))]
    files[0].write("still in the buffer")

    proof = _proved(files)

    assert "_io." in proof.refused and "is unknown" in proof.refused
    assert path.read_text() == ""
    files[0].close()


def test_suspended_generator_is_not_closed_in_the_copy(tmp_path):
    path = tmp_path / "closed"

    def suspended():
        try:
            yield
        finally:
            path.write_text("closed")

    value = [suspended()]
    next(value[0])

    proof = _proved(value)

    assert "generator" in proof.refused
    assert not path.exists()


def test_callback_of_the_program_is_not_called_in_the_copy(tmp_path):
    path = tmp_path / "called"
    shared = Shared()
    finalizer = weakref.finalize(shared, path.write_text, "gone")

    proof = _proved([[shared]])
    del shared

    assert proof.refused is None  # this function holds it
    assert not path.exists()
    finalizer.detach()


def test_callback_for_what_only_the_holder_has_forbids_the_cut(tmp_path):
    path = tmp_path / "called"
    value = [Shared() for _ in range(1000)]
    finalizer = weakref.finalize(value[0], path.write_text, "gone")

    proof = _proved(value)

    assert "callback" in proof.refused
    assert not path.exists()
    finalizer.detach()


def test_callback_of_a_weak_method_forbids_the_cut(tmp_path):
    path = tmp_path / "called"
    value = [Kept() for _ in range(10)]
    weak = weakref.WeakMethod(value[0].bound, lambda _: path.write_text("gone"))

    proof = _proved(value)

    assert "callback" in proof.refused
    assert not path.exists()
    assert weak() is not None


def test_callback_of_a_weak_proxy_forbids_the_cut(tmp_path):
    path = tmp_path / "called"
    value = [Kept() for _ in range(10)]
    weak = weakref.proxy(value[0], lambda _: path.write_text("gone"))

    proof = _proved(value)

    assert "callback" in proof.refused
    assert not path.exists()
    assert weak.payload


def test_weak_methods_and_proxies_that_call_nobody_do_not_forbid_the_cut():
    value = [Kept() for _ in range(10)]
    weak = [weakref.WeakMethod(value[0].bound), weakref.proxy(value[0])]

    proof = _proved(value)

    assert proof.refused is None
    assert proof.released == pytest.approx(10 * MEGABYTE, rel=0.05)
    assert len(weak) == 2


def test_weak_collections_do_not_forbid_the_cut():
    value = [Kept() for _ in range(10)]
    weak = weakref.WeakSet(value)

    proof = _proved(value)

    assert proof.refused is None
    assert proof.released == pytest.approx(10 * MEGABYTE, rel=0.05)
    assert len(weak) == 10


def test_arrays_come_free():
    numpy = pytest.importorskip("numpy")

    proof = _proved([numpy.ones(250_000) for _ in range(10)])

    assert proof.released == pytest.approx(20 * MEGABYTE, rel=0.05)


def test_entries_of_a_tuple_come_free():
    value = tuple(bytes(MEGABYTE) for _ in range(100))

    proof = _proved(value)

    assert proof.refused is None
    assert proof.released == pytest.approx(100 * MEGABYTE, rel=0.01)
    assert all(len(payload) == MEGABYTE for payload in value)


def test_tuple_that_a_context_variable_keeps_is_cut():
    variable = contextvars.ContextVar("kept_by_a_test")
    variable.set(tuple(bytes(MEGABYTE) for _ in range(100)))

    proof = heap.prove("context variable kept_by_a_test[*]")

    assert proof.refused is None
    assert proof.released == pytest.approx(100 * MEGABYTE, rel=0.01)
    assert len(variable.get()) == 100


def _objects_in_an_array():
    numpy = pytest.importorskip("numpy")
    array = numpy.empty((10, 2), dtype=object)
    for at in numpy.ndindex(array.shape):
        array[at] = bytes(MEGABYTE)
    return array


def test_objects_in_an_array_come_free():
    array = _objects_in_an_array()

    proof = _proved(array)

    assert proof.released == pytest.approx(20 * MEGABYTE, rel=0.05)
    assert len(array[9, 1]) == MEGABYTE


def test_array_that_may_not_be_written_to_is_not_cut():
    array = _objects_in_an_array()
    array.flags.writeable = False

    proof = _proved(array)

    assert "none that can be emptied" in proof.refused


def test_tensors_come_free_with_their_graphs(torch):
    proof = _proved([torch.ones(250_000, requires_grad=True).exp() for _ in range(10)])

    assert proof.refused is None
    assert proof.released == pytest.approx(20 * MEGABYTE, rel=0.05)


def test_holder_that_is_gone_is_told(monkeypatch):
    monkeypatch.setattr("leakguard.capture.heap.proof._NAMING_SECONDS", 0.2)
    proof = heap.prove(f"{__name__}.nobody[*]")

    assert "found" in proof.refused


def _named_by_another_way(monkeypatch, *holders):
    monkeypatch.setattr("leakguard.capture.heap.proof._NAMING_SECONDS", 2.0)
    for holder in holders:
        holder.payloads = [bytes(MEGABYTE) for _ in range(20)]
    return heap.prove("elsewhere.Task.payloads[*]", 20 * (MEGABYTE + 33))


def test_holder_that_is_reached_by_another_way_at_the_end_is_found_by_its_size(monkeypatch):
    one = Shared()
    proof = _named_by_another_way(monkeypatch, one)

    assert proof.refused is None
    assert proof.released == pytest.approx(20 * MEGABYTE, rel=0.05)


def test_two_holders_alike_are_not_taken_for_each_other(monkeypatch):
    one, other = Shared(), Shared()
    proof = _named_by_another_way(monkeypatch, one, other)

    assert (proof.refused, proof.released) == (
        "no container of this name was found, or none that can be emptied",
        None,
    )
