"""A look at the heap leaves no reference behind: what dies afterwards dies at once."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from itertools import pairwise

import pytest
from heap_engines import Engine, each_engine


class Thing:
    pass


LOOKS = {
    "census": lambda engine, thing: engine.census({"things": Thing}, large=1),
    "remember": lambda engine, thing: engine.remember(),
    "inspect": lambda engine, thing: engine.inspect(large=1000),
    "inspect a target": lambda engine, thing: engine.inspect(targets=[thing]),
}
each_look = pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())


@each_engine
@each_look
def test_an_object_dies_with_its_last_own_reference(engine: Engine, look) -> None:
    thing = Thing()
    watcher = weakref.ref(thing)
    result = look(engine, thing)
    del thing
    assert watcher() is None
    assert result is not None


@each_engine
@each_look
def test_reference_counts_are_what_they_were(engine: Engine, look) -> None:
    thing, items, text, number = Thing(), [Thing()], "a text of its own " * 2, 12345678.5
    things = (thing, items, items[0], text, number)
    look(engine, thing)
    before = [sys.getrefcount(each) for each in things]
    look(engine, thing)
    assert [sys.getrefcount(each) for each in things] == before


@each_engine
@each_look
def test_locals_of_outer_frames_and_other_threads_die_after_del(engine: Engine, look) -> None:
    ready, go_on, died = threading.Event(), threading.Event(), []

    def worker() -> None:
        local = Thing()
        watcher = weakref.ref(local)
        ready.set()
        go_on.wait(60)
        del local
        died.append(watcher() is None)

    def outer() -> bool:
        kept = Thing()
        watcher = weakref.ref(kept)
        inner()
        del kept
        return watcher() is None

    def inner() -> None:
        look(engine, Thing())

    thread = threading.Thread(target=worker)
    thread.start()
    ready.wait(60)
    outer_died = outer()
    go_on.set()
    thread.join(60)
    assert (outer_died, died) == (True, [True])


@each_engine
def test_a_program_keeps_the_locals_it_asked_for(engine: Engine) -> None:
    def asks() -> dict[str, object]:
        first, second = 1, [2]
        asked = locals()
        engine.census()
        return {name: value for name, value in asked.items() if name in ("first", "second")}

    assert asks() == {"first": 1, "second": [2]}


@each_engine
def test_a_traced_function_keeps_its_locals(engine: Engine) -> None:
    seen = []

    def traced() -> list[int]:
        values = [1, 2, 3]
        engine.inspect()
        return values

    def trace(frame, event, argument):
        if event == "line" and frame.f_code.co_name == "traced":
            engine.census()
            seen.append(event)
        return trace

    sys.settrace(trace)
    try:
        result = traced()
    finally:
        sys.settrace(None)
    assert result == [1, 2, 3]
    assert seen


@each_engine
@each_look
def test_no_tracked_object_is_left_behind(engine: Engine, look) -> None:
    thing = Thing()
    look(engine, thing)
    counts = []
    for _ in range(3):
        look(engine, thing)
        counts.append(len(gc.get_objects()))
    # Of any two looks: another thread of the test run may make objects in between.
    assert min(after - before for before, after in pairwise(counts)) <= 1


@each_engine
@each_look
def test_the_collector_is_as_it_was(engine: Engine, look) -> None:
    for wanted in (gc.disable, gc.enable):
        wanted()
        before = gc.isenabled()
        look(engine, Thing())
        assert gc.isenabled() == before
    gc.enable()


@each_engine
def test_the_memory_between_looks_holds_numbers_only(engine: Engine) -> None:
    memory = engine.inspect().memory
    kinds = {type(part) for part in gc.get_referents(*gc.get_referents(memory))}
    assert Thing not in kinds
    assert {type(part).__name__ for part in gc.get_referents(memory)} <= {
        "int", "Column", "bytearray", "type",
    }  # fmt: skip
