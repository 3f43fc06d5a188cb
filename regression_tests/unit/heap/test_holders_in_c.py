"""What C code keeps is held by something that has a name."""

from __future__ import annotations

import asyncio
import atexit
import collections
import contextvars
import functools
import itertools
import queue
import signal
import sqlite3
import sys
import types
import weakref
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any
from xml.parsers import expat

import pytest
from heap_engines import COMPILED, PYTHON, Engine, each_engine


class Thing:
    pass


ENGINE = COMPILED or PYTHON
HERE = types.ModuleType("kept_in_c")


@pytest.fixture(autouse=True)
def _module():
    HERE.__spec__ = ModuleSpec("kept_in_c", None)
    sys.modules["kept_in_c"] = HERE
    yield
    HERE.__dict__.clear()
    del sys.modules["kept_in_c"]


def _held_by(thing: Any, engine: Engine = ENGINE) -> str:
    found = engine.inspect(targets=[thing]).held[0]
    assert found is not None
    return found.held_by or "nobody"


def _queue(thing: object) -> object:
    kept: queue.SimpleQueue[object] = queue.SimpleQueue()
    kept.put(thing)
    return kept


def _tee(thing: object) -> object:
    ahead, behind = itertools.tee(iter([thing]))
    next(ahead)
    return behind


def _cycle(thing: object) -> object:
    kept = itertools.cycle(iter([thing]))
    next(kept)
    return kept


def _future(thing: object) -> object:
    loop = asyncio.new_event_loop()
    kept = loop.create_future()
    kept.set_result([thing])
    loop.close()
    return kept


def _context(thing: object) -> object:
    context = contextvars.Context()
    context.run(contextvars.ContextVar[object]("kept").set, thing)
    return context


def _parser(thing: object) -> object:
    parser = expat.ParserCreate()
    parser.StartElementHandler = functools.partial(print, thing)
    return parser


_KEEPERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "queue": (_queue, "kept_in_c.kept[*]"),
    "tee": (_tee, "kept_in_c.kept → buffer of itertools._tee[*]"),
    "cycle": (_cycle, "kept_in_c.kept → copy of itertools.cycle[*]"),
    "chain": (lambda t: itertools.chain([t], [t]), "kept_in_c.kept → source of itertools.chain"),
    "zip": (lambda t: zip([t], [t], strict=True), "kept_in_c.kept → source of zip"),
    "map": (lambda t: map(id, [t]), "kept_in_c.kept → source of map"),
    "filter": (lambda t: filter(None, [t]), "kept_in_c.kept → source of filter"),
    "groupby": (lambda t: itertools.groupby([t]), "kept_in_c.kept → source of itertools.groupby"),
    "islice": (lambda t: itertools.islice([t], 3), "kept_in_c.kept → source of itertools.islice"),
    "repeat": (lambda t: itertools.repeat([t]), "kept_in_c.kept → source of itertools.repeat"),
    "enumerate": (lambda t: enumerate([t]), "kept_in_c.kept[*]"),
    "iterator": (lambda t: iter([t]), "kept_in_c.kept[*]"),
    "view": (lambda t: {"a": t}.values(), "kept_in_c.kept.a"),
    "proxy": (lambda t: types.MappingProxyType({"a": t}), "kept_in_c.kept.a"),
    "deque": (lambda t: collections.deque([t]), "kept_in_c.kept[*]"),
    "ordered": (lambda t: collections.OrderedDict(a=t), "kept_in_c.kept['a']"),
    "partial": (lambda t: functools.partial(print, t), "kept_in_c.kept.args[*]"),
    "future": (_future, "kept_in_c.kept → part of _asyncio.Future[*]"),
    "context": (_context, "kept_in_c.kept → context variable kept"),
    "parser": (_parser, "kept_in_c.kept → part of pyexpat.xmlparser"),
    "default": (
        lambda t: contextvars.ContextVar("kept", default=(t,)),
        "kept_in_c.kept → default of _contextvars.ContextVar[*]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _KEEPERS)
def test_what_a_class_of_the_standard_library_keeps_in_c_has_a_named_holder(name: str) -> None:
    make, said = _KEEPERS[name]
    thing = Thing()
    HERE.kept = make(thing)  # type: ignore[attr-defined]
    held_by = _held_by(thing)
    assert held_by.startswith(said)
    assert "unnamed" not in held_by


def _keep(keep: Callable[[Thing], None]) -> weakref.ref[Thing]:
    """Let something keep a new object that no running function knows."""
    thing = Thing()
    keep(thing)
    return weakref.ref(thing)


def _kept_by(reference: weakref.ref[Thing], engine: Engine) -> str:
    held = engine.inspect(targets=[reference()]).held[0]
    assert held is not None
    return held.held_by or "nobody"


@each_engine
def test_a_signal_handler_is_named(engine: Engine) -> None:
    before = signal.getsignal(signal.SIGUSR2)
    kept = _keep(lambda thing: void(signal.signal(signal.SIGUSR2, functools.partial(id, thing))))
    try:
        assert _kept_by(kept, engine) == "signal handler SIGUSR2.args[*]"
    finally:
        signal.signal(signal.SIGUSR2, before)


@each_engine
def test_what_only_a_registry_in_c_keeps_is_held_by_c_code(engine: Engine) -> None:
    kept = _keep(lambda thing: void(atexit.register(void, thing)))
    try:
        assert _kept_by(kept, engine).startswith("(C code)")
    finally:
        atexit.unregister(void)


@each_engine
def test_a_function_of_a_database_is_held_by_c_code(engine: Engine) -> None:
    database = sqlite3.connect(":memory:")
    kept = _keep(lambda thing: database.create_function("kept", 1, functools.partial(id, thing)))
    assert _kept_by(kept, engine) == "(C code).args[*]"
    database.close()


@each_engine
def test_garbage_in_a_cycle_is_not_held_by_c_code(engine: Engine) -> None:
    kept = _keep(lambda thing: setattr(thing, "itself", [thing]))
    assert _kept_by(kept, engine) == "nobody"


@each_engine
def test_what_lies_far_behind_in_a_tee_is_named_without_counting_its_blocks(engine: Engine) -> None:
    things = [Thing() for _ in range(2_000)]
    ahead, behind = itertools.tee(iter(things))
    collections.deque(ahead, maxlen=0)
    kept = weakref.ref(things[1_999])
    things.clear()
    HERE.kept = behind  # type: ignore[attr-defined]
    del ahead, behind
    assert _kept_by(kept, engine) == "kept_in_c.kept → buffer of itertools._tee[*][*][*]"


def void(*ignored: object) -> None:
    """Do nothing with what a registry gives."""
