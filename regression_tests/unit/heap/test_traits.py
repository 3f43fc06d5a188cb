"""What decides how a holder is emptied is read from a few of its entries, on both engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from heap_engines import COMPILED, PYTHON, Engine, each_engine

from leakguard.model.holder import Holder

MANY = 20_000_000  # bytes, so that the holder is among the largest ten of the process


@pytest.fixture
def engine() -> Engine:
    return COMPILED or PYTHON


class Kept:
    def __init__(self) -> None:
        self.things: list[Any] = [bytearray(MANY)]
        self.latest: One | None = None
        self.call: Any = None


class One:
    def __init__(self, parent: One | None) -> None:
        self.parent = parent
        self.genome = bytearray(MANY // 50)


class Page:
    pass


def _holder(engine: Engine, name: str = "things[*]", **asked: Any) -> Holder:
    found = {h.path: h for h in engine.inspect(**asked).holders}
    return found[f"{__name__}.Kept.{name}"]


def _error(page: Page) -> Exception:
    try:
        raise ValueError(page)
    except ValueError as error:
        return error


def test_views_of_an_array_each_are_told_from_their_copies(engine: Engine) -> None:
    numpy = pytest.importorskip("numpy")
    kept = Kept()
    kept.things += [numpy.zeros(50_000)[:5] for _ in range(20)]
    assert _holder(engine).traits == ("views",)
    kept.things[1:] = [view.copy() for view in kept.things[1:]]
    assert _holder(engine).traits == ()


def test_rows_of_one_array_are_no_views_to_be_copied(engine: Engine) -> None:
    numpy = pytest.importorskip("numpy")
    kept = Kept()
    kept.things += list(numpy.zeros((40, 5_000)))
    assert _holder(engine).traits == ()


def test_views_in_records_are_seen_and_tensors_with_a_graph(engine: Engine, torch: Any) -> None:
    kept = Kept()
    kept.things += [(n, torch.zeros(50_000)[:2]) for n in range(20)]
    assert _holder(engine).traits == ("views",)
    weights = torch.ones(3, requires_grad=True)
    kept.things[1:] = [weights * 2 for _ in range(20)]
    assert _holder(engine).traits == ("graphs",)
    kept.things[1:] = [(weights * 2).detach() for _ in range(20)]
    assert _holder(engine).traits == ()


def test_exceptions_are_told_whatever_their_name(engine: Engine) -> None:
    kept = Kept()
    kept.things += [_error(Page()) for _ in range(5)]
    assert _holder(engine).traits == ("exceptions",)


def test_way_goes_on_behind_the_entry_to_what_grows(engine: Engine) -> None:
    kept = Kept()
    kept.things += [_error(Page()) for _ in range(5)]
    found = _holder(engine, suspects=[f"{__name__}.Page"])
    assert found.onward[-1].type == f"{__name__}.Page"
    kept.things[1:] = [Page() for _ in range(5)]
    assert _holder(engine, suspects=[f"{__name__}.Page"]).onward == ()


@each_engine
def test_chain_of_ancestors_is_told_from_a_list_of_them(engine: Engine) -> None:
    kept = Kept()
    for _ in range(60):
        kept.latest = One(kept.latest)
    found = _holder(engine, "latest.parent[*]")
    assert (found.traits, found.element) == (("chain",), f"{__name__}.One")
    assert found.trace[-1].label == ".parent"


def _closure(call: Any, buffer: bytearray) -> Callable[[], int]:
    # The buffer comes first among the cells, whose names are sorted.
    return lambda: len(buffer) + (0 if call is None else call())


def _partial(call: Any, buffer: bytearray) -> Callable[[], int]:
    return partial(len, buffer, call)


@each_engine
@pytest.mark.parametrize(
    ("wrapped", "place", "element"),
    [
        (_closure, "call → closure cell call of _closure.<locals>.<lambda>[*]", "function"),
        (_partial, "call.args[*][*]", "functools.partial"),
    ],
)
def test_function_that_is_wrapped_again_and_again_is_a_chain(
    engine: Engine, wrapped: Any, place: str, element: str
) -> None:
    kept = Kept()
    for _ in range(60):
        kept.call = wrapped(kept.call, bytearray(MANY // 50))
    found = _holder(engine, place)
    assert (found.traits, found.element, found.entries) == (("chain",), element, 58)
    assert found.retained_bytes and found.retained_bytes >= 57 * MANY // 50


@each_engine
def test_tuples_in_tuples_and_functions_beside_them_are_no_chain(engine: Engine) -> None:
    kept = Kept()
    kept.things += [((_error, bytearray(MANY // 50)), (_holder, (len,))) for _ in range(40)]
    assert _holder(engine).traits == ()
