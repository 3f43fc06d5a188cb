"""Fifty objects that run, raise or lie when they are touched: none of them is."""

from __future__ import annotations

import collections
import gc
import itertools
import sys
import types
import weakref

import pytest
from heap_engines import Engine, both_engines, each_engine

TOUCHED: list[str] = []


def _touched(name: str):
    def method(self, *args: object, **named: object):
        TOUCHED.append(name)
        raise RuntimeError(f"{name} was called")

    return method


_METHODS = (
    "__eq__", "__ne__", "__lt__", "__hash__", "__len__", "__bool__", "__repr__", "__str__",
    "__sizeof__", "__getattr__", "__getattribute__", "__dir__", "__iter__", "__next__",
    "__contains__", "__getitem__", "__format__", "__reduce__", "__reduce_ex__", "__instancecheck__",
    "__index__", "__int__", "__float__", "__call__", "__enter__", "__array__", "__buffer__",
    "__length_hint__", "__missing__", "__get__", "__set__", "__index__",
)  # fmt: skip


def _one_method_each() -> list[object]:
    return [type(f"Hostile{name}", (), {name: _touched(name)})() for name in _METHODS]


class PropertyClass:
    @property
    def __class__(self):  # type: ignore[override]
        TOUCHED.append("__class__")
        raise RuntimeError("__class__ was read")

    @property
    def __dict__(self):  # type: ignore[override]
        TOUCHED.append("__dict__")
        raise RuntimeError("__dict__ was read")

    @property
    def value(self):
        TOUCHED.append("property")
        return None


class Meta(type):
    __hash__ = _touched("metaclass __hash__")
    __eq__ = _touched("metaclass __eq__")
    __repr__ = _touched("metaclass __repr__")

    def __getattribute__(cls, name: str):
        TOUCHED.append(f"metaclass {name}")
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance: object) -> bool:
        TOUCHED.append("__instancecheck__")
        return False

    def __subclasscheck__(cls, other: type) -> bool:
        TOUCHED.append("__subclasscheck__")
        return False


class LazyModule(types.ModuleType):
    def __getattr__(self, name: str):
        TOUCHED.append(f"lazy {name}")
        raise ImportError(name)

    @property
    def __dict__(self):  # type: ignore[override]
        TOUCHED.append("lazy __dict__")
        return {}


class HostileDict(dict):  # type: ignore[type-arg]
    items = keys = values = __iter__ = __len__ = _touched("dict method")
    __sizeof__ = _touched("dict __sizeof__")


class HostileList(list):  # type: ignore[type-arg]
    __iter__ = __len__ = __getitem__ = _touched("list method")
    __sizeof__ = _touched("list __sizeof__")


class HostileTuple(tuple):
    __iter__ = __len__ = __getitem__ = _touched("tuple method")


class Resurrecting:
    def __del__(self) -> None:
        pass


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


def _dead_proxy() -> object:
    target = Resurrecting()
    proxy = weakref.proxy(target)
    del target
    return proxy


def _half_made() -> object:
    class Late:
        __slots__ = ("left", "right")

    return Late.__new__(Late)


def _hostile() -> list[object]:
    meta = Meta("Made", (), {})
    things = [
        *_one_method_each(),
        PropertyClass(),
        type.__call__(meta),
        _dead_proxy(),
        weakref.proxy(Meta),
        _half_made(),
        HostileDict(a=1),
        HostileList([1, 2]),
        HostileTuple((1, 2)),
        Unhashable(),
        Resurrecting(),
        collections.Counter.__new__(collections.Counter),
        (number for number in itertools.count()),
        types.CellType(),
        types.SimpleNamespace(),
    ]
    return [*things, HostileList(things), HostileDict({1: things})]


@pytest.fixture
def hostile():
    lazy = LazyModule("hostile_lazy_module")
    sys.modules["hostile_lazy_module"] = lazy
    things = [*_hostile(), lazy]
    assert len(things) >= 49
    TOUCHED.clear()
    yield things
    del sys.modules["hostile_lazy_module"]


def _element_count(things: list[object]) -> int:
    return len(gc.get_referents(things))


@both_engines
def test_a_census_touches_nothing_and_counts_right(engine: Engine, hostile) -> None:
    census = engine.census({"half": HostileDict}, large=1)
    assert TOUCHED == []
    types_seen = census.census.types
    assert {name: types_seen[f"{__name__}.{name}"].count for name in (
        "HostileDict", "HostileList", "HostileTuple", "Unhashable", "PropertyClass", "Made",
        *(f"Hostile{name}" for name in set(_METHODS) - {"__index__"}),
    )} == {
        "HostileDict": 2, "HostileList": 2, "HostileTuple": 1, "Unhashable": 1,
        "PropertyClass": 1, "Made": 1,
        **{f"Hostile{name}": 1 for name in set(_METHODS) - {"__index__"}},
    }  # fmt: skip
    assert census.watched == {"half": 2}


@both_engines
def test_a_deep_look_touches_nothing(engine: Engine, hostile) -> None:
    found = engine.inspect(targets=list(hostile), large=1)
    assert TOUCHED == []
    # an object that is not a container of the test holds every one of them
    assert all(held is not None and held.trace for held in found.held)


@each_engine
def test_object_arrays_in_cycles_with_hostile_elements(engine: Engine, hostile) -> None:
    np = pytest.importorskip("numpy")
    ring = np.empty(len(hostile) + 1, dtype=object)
    for position, thing in enumerate(hostile):
        ring[position] = thing
    ring[-1] = ring
    TOUCHED.clear()
    engine.census()
    engine.inspect()
    assert TOUCHED == []
    ring[-1] = None


class Link:
    __slots__ = ("next",)

    def __init__(self, following: object) -> None:
        self.next = following


@each_engine
def test_a_list_linked_a_million_deep_does_not_recurse(engine: Engine) -> None:
    depth = 1_000_000 if engine.name == "compiled" else 200_000
    head: object = None
    for _ in range(depth):
        head = Link(head)
    last = head
    while last.next is not None:
        last = last.next
    assert engine.census({"links": Link}).watched == {"links": depth}
    held = engine.inspect(targets=[last]).held[0]
    assert held is not None
    assert len(held.trace) < 100
    del last
    while head is not None:  # the interpreter's own deallocation would recurse
        head = head.next


@each_engine
def test_a_list_of_ten_million_elements(engine: Engine) -> None:
    length = 10_000_000 if engine.name == "compiled" else 1_000_000
    wide = [None] * length
    wide[0] = wide[-1] = "the only one"
    found = engine.census(large=length * 8).census.large
    assert [(entry.type, entry.bytes) for entry in found if entry.type == "list"] == [
        ("list", sys.getsizeof(wide))
    ]
    assert engine.inspect(targets=[wide]).held[0].retained_bytes >= length * 8
