"""A cycle is told as the way from an object back to itself."""

from __future__ import annotations

import pytest
from heap_engines import Engine, each_engine

pytestmark = pytest.mark.usefixtures("only_own_garbage")


class Listening:
    def __init__(self) -> None:
        self.listeners = [lambda: self]


class Bound:
    def __init__(self) -> None:
        self.handler = self.handle

    def handle(self) -> None: ...


class Child:
    def __init__(self, parent: Parent) -> None:
        self.parent = parent


class Parent:
    def __init__(self) -> None:
        self.children = [Child(self) for _ in range(2)]


class Payload:
    """Hangs from a cycle and is in none."""


class Carrier:
    def __init__(self) -> None:
        self.itself, self.payload = self, Payload()


WAYS = {
    Listening: (
        ".listeners",
        "[*]",
        "closure cell self of Listening.__init__.<locals>.<lambda>",
    ),
    Bound: (".handler", "bound method self"),
    Parent: (".children", "[*]", ".parent"),
    Carrier: (".itself",),
}


@each_engine
@pytest.mark.parametrize("cls", WAYS)
def test_garbage_tells_the_way_back_to_itself(engine: Engine, cls: type) -> None:
    for _ in range(30):
        cls()
    name = f"{__name__}.{cls.__name__}"
    way = engine.cycles()[name]
    assert tuple(hop.label for hop in way) == (name, *WAYS[cls])
    assert way[0].type == way[-1].type == name
    assert [hop.suspect for hop in way] == [False] * (len(way) - 1) + [True]


@each_engine
def test_what_hangs_from_a_cycle_is_in_none(engine: Engine) -> None:
    for _ in range(30):
        Carrier()
    assert f"{__name__}.Payload" not in engine.cycles()


@each_engine
def test_cycles_that_somebody_holds_are_not_told(engine: Engine) -> None:
    kept = [Carrier() for _ in range(30)]
    assert not engine.cycles()
    assert len(kept) == 30


@each_engine
def test_cycles_are_followed_only_where_what_is_adrift_is_worth_it(engine: Engine) -> None:
    asked = []
    for _ in range(30):
        Carrier()
    assert engine.cycles(lambda *adrift: asked.append(adrift) or False) is None
    [(objects, size)] = asked
    assert objects >= 60
    assert size >= 60 * object.__basicsize__
    assert engine.inspect().cycles is None


@each_engine
def test_garbage_of_many_libraries_does_not_hide_the_programs_own(engine: Engine) -> None:
    for number in range(60):
        library_class = type(f"Node{number}", (Carrier,), {"__module__": "pytest"})
        for _ in range(3):
            library_class()
    Carrier()
    assert f"{__name__}.Carrier" in engine.cycles()
