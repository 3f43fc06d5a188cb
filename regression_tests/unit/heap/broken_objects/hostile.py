"""Hostile Python: what refuses, lies, or rises from the dead."""

from __future__ import annotations

import collections
import contextvars
import ctypes
import enum
import functools
import io
import itertools
import os
import sqlite3
import sys
import threading
import types
import weakref
from typing import Any

from broken_objects.c_api import blank, new_list, new_tuple, retain
from broken_objects.classes import Hostage, Plain
from broken_objects.kinds import ONE_LOOK, Look, kind


def _refuse(*args: object, **named: object) -> Any:
    raise RuntimeError("a look ran code of the program")


@kind
def class_that_lies_about_itself(look: Look) -> Any:
    class Liar:
        __class__ = property(_refuse)  # type: ignore[assignment]
        __dict__ = property(_refuse)  # type: ignore[assignment]
        __eq__ = __hash__ = __len__ = __bool__ = __repr__ = __iter__ = _refuse
        __sizeof__ = __getattr__ = __getattribute__ = __contains__ = __getitem__ = _refuse

    return [Liar(), {"key": Liar()}]


@kind
def metaclass_that_refuses_everything(look: Look) -> Any:
    class Meta(type):
        __eq__ = __hash__ = __repr__ = __getattribute__ = __instancecheck__ = _refuse
        __subclasscheck__ = __call__ = __iter__ = __len__ = _refuse

    return [type.__call__(Meta("Made", (), {})), Meta("Other", (list,), {})]


@kind
def class_without_a_name_that_can_be_read(look: Look) -> Any:
    made = type("Odd", (), {"__module__": 3, "__qualname__": "Odd"})
    other = type("Odd", (), {})
    other.__module__ = Plain()  # type: ignore[assignment]
    return [made(), other(), type("bad name ", (), {})()]


@kind
def containers_that_refuse(look: Look) -> Any:
    refuse = dict.fromkeys(
        ("__iter__", "__len__", "__getitem__", "__contains__", "__sizeof__", "__eq__", "items",
         "keys", "values", "get", "__bool__", "__reversed__"), _refuse,
    )  # fmt: skip
    bases = (list, dict, set, tuple, collections.deque, collections.OrderedDict)
    kinds: list[Any] = [type(f"Refusing{base.__name__}", (base,), dict(refuse)) for base in bases]
    return [cls() for cls in kinds], kinds[1](a=kinds[0]([1, 2]))


@kind
def proxies_of_the_dead(look: Look) -> Any:
    target, called = Plain(), type("Called", (), {"__call__": _refuse})()
    found = [weakref.proxy(target), weakref.proxy(called), weakref.ref(target)]
    values = weakref.WeakValueDictionary({1: target})
    keys = weakref.WeakKeyDictionary({target: 1})
    del target, called
    return found, values, keys


@kind
def objects_that_rise_from_the_dead(look: Look) -> Any:
    class Rising:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            risen.append(self)
            look()

    risen: list[Any] = []
    for _ in range(3):
        Rising()
    return risen


@kind
def descriptors_that_compute(look: Look) -> Any:
    class Computing:
        def __get__(self, instance: object, owner: object = None) -> Any:
            return _refuse()

    return [type("Owner", (), {name: Computing() for name in ("maxsize", "capacity", "x")})()]


@kind
def module_that_computes_its_names(look: Look) -> Any:
    class Lazy(types.ModuleType):
        __dict__ = property(_refuse)  # type: ignore[assignment]
        __getattr__ = _refuse

    sys.modules["broken_lazy"] = Lazy("broken_lazy")
    try:
        look()
    finally:
        del sys.modules["broken_lazy"]


@kind
def enumeration_whose_members_refuse(look: Look) -> Any:
    class Colour(enum.Enum):
        RED = 1
        __eq__ = __repr__ = __str__ = _refuse
        __hash__ = object.__hash__

    return Colour.RED


@kind
def released_views_and_closed_files(look: Look) -> Any:
    view = memoryview(bytearray(10))
    view.release()
    closed = io.BytesIO(b"123")
    exported = closed.getbuffer()
    reader, writer = os.pipe()
    os.close(writer)
    file = os.fdopen(reader, "rb")
    file.close()
    database = sqlite3.connect(":memory:")
    cursor = database.execute("select 1")
    database.close()
    return view, closed, exported, file, cursor, database


@kind
def frames_that_were_cleared(look: Look) -> Any:
    found: list[Any] = []

    def fail() -> None:
        kept = [1, 2]
        found.append(sys._getframe())
        raise Hostage(kept)

    try:
        fail()
    except Hostage as error:
        found.append(error)
    found[0].clear()
    return found


@kind
def exceptions_in_a_ring(look: Look) -> Any:
    first, second = Hostage(), Hostage()
    first.__context__, second.__context__ = second, first
    first.__cause__ = first
    return first


@kind
def a_hundred_thousand_deep(look: Look) -> Any:
    nested: Any = ()
    for _ in range(100_000):
        nested = (nested,)
    retain(nested)  # never freed: the interpreter would recurse on its own
    return nested


@kind
def tee_that_lags_behind(look: Look) -> Any:
    ahead, behind = itertools.tee(iter(range(10_000)))
    collections.deque(ahead, maxlen=0)
    return behind


@kind
def null_pointers_of_ctypes(look: Look) -> Any:
    class Node(ctypes.Structure):
        pass

    Node._fields_ = [("next", ctypes.POINTER(Node)), ("item", ctypes.py_object)]
    return [Node(), ctypes.POINTER(Node)(), ctypes.py_object(), (Node * 3)(), ctypes.c_void_p()]


@kind
def contexts_that_are_entered_and_empty(look: Look) -> Any:
    variable: Any = contextvars.ContextVar("broken")
    context = contextvars.Context()
    context.run(lambda: (variable.set(new_list(2)), look()))
    return context, contextvars.copy_context()


@kind
def caches_with_half_built_values(look: Look) -> Any:
    @functools.lru_cache(maxsize=3)
    def cached(number: int) -> Any:
        return new_list(number + 1)

    for number in range(5):
        cached(number)
    return cached, functools.partial(cached, new_tuple(2))


@kind
def half_built_things_in_other_threads(look: Look) -> Any:
    ready, done = threading.Event(), threading.Event()

    def run() -> None:
        half, empty = new_list(4), blank(dict)
        ready.set()
        done.wait(ONE_LOOK)
        del half, empty

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(ONE_LOOK)
    look()
    done.set()
    thread.join()
