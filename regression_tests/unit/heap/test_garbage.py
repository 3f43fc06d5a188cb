"""Garbage is what a collection would free: a cycle that C code holds is none."""

from __future__ import annotations

import functools
import sqlite3

import pytest
from heap_engines import Engine, each_engine

pytestmark = pytest.mark.usefixtures("only_own_garbage")


class Ring:
    def __init__(self, *parts: object) -> None:
        self.itself, self.parts = self, [*parts]


def _more_garbage(engine: Engine, before: int) -> int:
    return engine.inspect().garbage - before


@each_engine
def test_cycle_is_garbage_with_all_that_only_it_refers_to(engine: Engine) -> None:
    before = engine.inspect().garbage
    for number in range(50):
        Ring(f"part {number}", [object()])
    # A ring, its list, a text, a list and an object.
    assert 250 <= _more_garbage(engine, before) <= 300


@each_engine
def test_classes_of_garbage_are_garbage_too(engine: Engine) -> None:
    before = engine.inspect().garbage
    for number in range(50):
        type(f"Sized{number}", (Ring,), {"__sizeof__": lambda self: 99})()
    assert _more_garbage(engine, before) >= 50 * 5


@each_engine
def test_cycle_that_c_code_holds_is_no_garbage(engine: Engine) -> None:
    before = engine.inspect().garbage
    database = sqlite3.connect(":memory:")
    for number in range(50):
        database.create_function(f"kept{number}", 1, functools.partial(id, Ring()))
    assert _more_garbage(engine, before) < 50
    database.close()


@each_engine
def test_gradients_of_garbage_are_garbage(engine: Engine) -> None:
    torch = pytest.importorskip("torch")
    before = engine.inspect().garbage
    for _ in range(50):
        model = torch.nn.Linear(3, 3)
        model.itself = [model]
        model(torch.ones(2, 3)).sum().backward()
        grads = [one.grad for one in model.parameters()]
    size = engine.inspect().garbage_bytes
    del model, grads
    # 49 pairs of parameters with their gradients: 12 numbers each.
    assert _more_garbage(engine, before) >= 49 * 4
    assert size >= 49 * 2 * 12 * 4
