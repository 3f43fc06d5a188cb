"""What any class of the standard library keeps in C has a holder with a name, in one look at all.

The list follows the modules of the standard library that are written in C and whose objects keep
objects of the program; what only numbers and bytes go into (``array``, ``struct``, ``mmap``, hash
and compression objects, sockets and their timeouts) keeps nothing.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import codecs
import collections
import contextvars
import csv
import ctypes
import functools
import io
import itertools
import json.encoder
import operator
import pickle
import queue
import re
import sqlite3
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from heap_engines import Engine, each_engine

HERE = types.ModuleType("kept_in_c")


class Thing:
    """What is kept. It can be called, written and read, so that anything takes it."""

    def __call__(self, *ignored: object) -> Thing:
        return self

    def write(self, text: object) -> int:
        return 0

    def __iter__(self) -> Iterator[Thing]:
        return iter((self,))


class Raw(io.RawIOBase):
    """A stream that keeps something."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True


class Bytes(bytearray):
    """Memory that keeps something."""


def begun(iterator: Any) -> Any:
    """Take the first element of an iterator: some fill their buffers then."""
    next(iterator)
    return iterator


def one_field(thing: object, name: str) -> Any:
    made = Bytes(b"12345678")
    setattr(made, name, thing)
    return made


KEEPERS: dict[str, Callable[[Any], object]] = {
    # builtins
    "a_list": lambda t: [t],
    "a_tuple": lambda t: (t, 1),
    "a_dict": lambda t: {"a": t},
    "a_set": lambda t: {t},
    "a_frozenset": lambda t: frozenset((t,)),
    "a_slice": lambda t: slice(t),
    "list_iterator": lambda t: iter([t]),
    "list_backwards": lambda t: reversed([t]),
    "tuple_iterator": lambda t: iter((t,)),
    "set_iterator": lambda t: iter({t}),
    "dict_keys": lambda t: {t: 1}.keys(),
    "dict_values": lambda t: {1: t}.values(),
    "dict_items": lambda t: {1: t}.items(),
    "dict_iterator": lambda t: iter({1: t}.values()),
    "dict_backwards": lambda t: reversed({1: t}.values()),
    "sequence_iterator": lambda t: iter(SeqOf(t)),
    "callable_iterator": lambda t: iter(t, None),
    "enumeration": lambda t: enumerate([t]),
    "zipped": lambda t: zip([t], strict=False),
    "mapped": lambda t: map(id, [t]),
    "mapped_by": lambda t: map(t, [1]),
    "filtered": lambda t: filter(None, [t]),
    "reversed_sequence": lambda t: reversed(SeqOf(t)),
    "method_of_c": lambda t: [t].append,
    "method": lambda t: types.MethodType(print, t),
    "slot_wrapper": lambda t: t.__str__,
    "a_property": lambda t: property(t),
    "a_classmethod": lambda t: classmethod(t),
    "a_staticmethod": lambda t: staticmethod(t),
    "a_super": lambda t: super(Thing, t),
    "mapping_proxy": lambda t: types.MappingProxyType({"a": t}),
    "namespace": lambda t: types.SimpleNamespace(a=t),
    "generic_alias": lambda t: types.GenericAlias(list, (t,)),
    "an_exception": lambda t: ValueError(t),
    "cause_of_an_exception": lambda t: caused(ValueError(t)),
    "stop_iteration": lambda t: StopIteration(t),
    "memory_view": lambda t: memoryview(one_field(t, "kept")),
    "a_cell": lambda t: types.CellType(t),
    "callback_of_a_weak_reference": lambda t: (owner := Bytes(b"1"), weakref.ref(owner, t)),
    # collections, functools, itertools, operator, queue
    "a_deque": lambda t: collections.deque([t]),
    "deque_iterator": lambda t: iter(collections.deque([t])),
    "default_dict": lambda t: collections.defaultdict(list, a=t),
    "default_factory": lambda t: collections.defaultdict(t),
    "ordered_dict": lambda t: collections.OrderedDict(a=t),
    "ordered_iterator": lambda t: iter(collections.OrderedDict(a=t).values()),
    "a_counter": lambda t: collections.Counter([t]),
    "chained_maps": lambda t: collections.ChainMap({"a": t}),
    "a_partial": lambda t: functools.partial(print, t),
    "a_cache": lambda t: cache_of(t),
    "comparison_key": lambda t: functools.cmp_to_key(t),
    "key_of_a_comparison": lambda t: functools.cmp_to_key(operator.eq)(t),
    "item_getter": lambda t: operator.itemgetter(t),
    "method_caller": lambda t: operator.methodcaller("append", t),
    "chain": lambda t: itertools.chain([t]),
    "tee": lambda t: begun_behind(itertools.tee(iter([t]))),
    "cycle": lambda t: begun(itertools.cycle(iter([t]))),
    "repeat": lambda t: itertools.repeat(t),
    "accumulate": lambda t: begun(itertools.accumulate([t, t])),
    "product": lambda t: itertools.product([t]),
    "permutations": lambda t: itertools.permutations([t]),
    "combinations": lambda t: itertools.combinations([t], 1),
    "with_replacement": lambda t: itertools.combinations_with_replacement([t], 1),
    "starmap": lambda t: itertools.starmap(t, [(1,)]),
    "take_while": lambda t: itertools.takewhile(bool, [t]),
    "drop_while": lambda t: itertools.dropwhile(bool, [t]),
    "filter_false": lambda t: itertools.filterfalse(None, [t]),
    "compress": lambda t: itertools.compress([t], [1]),
    "zip_longest": lambda t: itertools.zip_longest([t], [1, 2], fillvalue=0),
    "pairwise": lambda t: begun(itertools.pairwise([1, t, 2])),
    "group_by": lambda t: itertools.groupby([t]),
    "one_group": lambda t: next(itertools.groupby([t]))[1],
    "simple_queue": lambda t: filled(queue.SimpleQueue(), t),
    # asyncio, contextvars, threads
    "a_future": lambda t: of_a_loop(lambda loop: done(loop.create_future(), t)),
    "a_task": lambda t: of_a_loop(lambda loop: ended(loop, waits(t))),
    "a_coroutine": lambda t: unawaited(waits(t)),
    "async_generator": lambda t: yields(t),
    "a_generator": lambda t: begun(item for item in [t]),
    "a_context": lambda t: in_a_context(t),
    "default_of_a_variable": lambda t: contextvars.ContextVar("kept", default=t),
    "old_value": lambda t: in_a_context(t, twice=True),
    "thread_local": lambda t: setattr_of(threading.local(), t),
    # text, files, data
    "buffered_reader": lambda t: io.BufferedReader(Raw(t)),
    "buffered_writer": lambda t: io.BufferedWriter(Raw(t)),
    "buffered_pair": lambda t: io.BufferedRWPair(Raw(t), Raw(None)),
    "text_stream": lambda t: io.TextIOWrapper(io.BufferedReader(Raw(t))),
    "attribute_of_a_stream": lambda t: setattr_of(io.BytesIO(), t),
    "csv_writer": lambda t: csv.writer(t),
    "csv_reader": lambda t: csv.reader(iter(["a", t])),
    "pickler": lambda t: pickled(t),
    "pickler_file": lambda t: pickle.Pickler(t),
    "xml_element": lambda t: with_field(ElementTree.Element("a"), t),
    "xml_parser": lambda t: handler_of(expat.ParserCreate(), t),
    "xml_builder": lambda t: ElementTree.XMLParser(target=t),
    "syntax_tree": lambda t: ast.Constant(t),
    "codec_entry": lambda t: codecs.CodecInfo(t, t),
    "incremental_codec": lambda t: setattr_of(codecs.getincrementaldecoder("utf-8")(), t),
    "a_match": lambda t: re.match(b"1", one_field(t, "kept")),
    # databases and C
    "row_factory": lambda t: with_row_factory(sqlite3.connect(":memory:"), t),
    "row_factory_of_a_cursor": lambda t: with_row_factory(sqlite3.connect(":memory:").cursor(), t),
    "c_callback": lambda t: ctypes.CFUNCTYPE(None)(t),
    "c_object": lambda t: ctypes.py_object(t),
    "c_array": lambda t: (ctypes.py_object * 1)(t),
    "c_pointer": lambda t: ctypes.pointer(setattr_of(ctypes.c_int(1), t)),
}
if hasattr(builtins, "ExceptionGroup"):
    KEEPERS["group_of_exceptions"] = lambda t: builtins.ExceptionGroup("all", [ValueError(t)])
if sys.version_info >= (3, 12):
    KEEPERS["batched"] = lambda t: itertools.batched([t], 2)
if json.encoder.c_make_encoder is not None:
    KEEPERS["json_encoder"] = lambda t: json.encoder.c_make_encoder(
        {}, t, t, None, ":", ",", False, False, True
    )


class SeqOf:
    """A sequence by its position alone."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __getitem__(self, position: int) -> object:
        return self.thing

    def __len__(self) -> int:
        return 1


def caused(cause: BaseException) -> BaseException:
    made = KeyError()
    made.__cause__ = cause
    return made


def begun_behind(pair: Any) -> Any:
    next(pair[0])
    return pair[1]


def cache_of(thing: object) -> Any:
    cached = functools.lru_cache(lambda number: waiting.pop())
    waiting = [thing]
    cached(1)
    return cached


def filled(made: Any, thing: object) -> Any:
    made.put(thing)
    return made


def of_a_loop(make: Callable[[Any], Any]) -> Any:
    loop = asyncio.new_event_loop()
    try:
        return make(loop)
    finally:
        loop.close()


def done(future: Any, thing: object) -> Any:
    future.set_result(thing)
    return future


def ended(loop: Any, coroutine: Any) -> Any:
    task = loop.create_task(coroutine)
    loop.run_until_complete(task)
    return task


async def waits(thing: object) -> object:
    return thing


def unawaited(coroutine: Any) -> Any:
    LEFT.append(coroutine)
    return coroutine


async def yields(thing: object) -> Any:
    yield thing


def in_a_context(thing: object, twice: bool = False) -> Any:
    context, variable = contextvars.Context(), contextvars.ContextVar[object]("kept")
    first = context.run(variable.set, thing)
    return context.run(variable.set, 2) if twice else (context, first)[0]


def setattr_of(made: Any, thing: object) -> Any:
    made.kept = thing
    return made


def pickled(thing: object) -> Any:
    made = pickle.Pickler(io.BytesIO())
    made.dump(thing)
    return made


def with_field(element: Any, thing: object) -> Any:
    element.text = thing
    return element


def handler_of(parser: Any, thing: object) -> Any:
    parser.StartElementHandler = thing
    return parser


def with_row_factory(made: Any, thing: object) -> Any:
    made.row_factory = thing
    return made


LEFT: list[Any] = []
# What has no attribute, no key and no class of its own on the way is told by less.
_TOLD_BY_LESS = {"a_cell": "kept_in_c.cell_contents", "buffered_pair": "(C code)"}


def _named(engine: Engine) -> dict[str, str]:
    """Return who holds what each keeper keeps, asked in one look; "nothing" where it kept none."""
    references = {}
    for name, make in KEEPERS.items():
        thing = Thing()
        setattr(HERE, name, make(thing))
        references[name] = weakref.ref(thing)
        del thing
    found = engine.inspect(targets=[reference() for reference in references.values()]).held
    told = zip(references, found, strict=True)
    return {name: "nothing" if held is None else held.held_by or "nobody" for name, held in told}


@each_engine
def test_what_a_class_written_in_c_keeps_is_held_by_something_with_a_name(engine: Engine) -> None:
    HERE.__spec__ = ModuleSpec("kept_in_c", None)
    sys.modules["kept_in_c"] = HERE
    try:
        told = _named(engine)
    finally:
        del sys.modules["kept_in_c"]
        HERE.__dict__.clear()
        LEFT[0].close()
        LEFT.clear()
    assert len(told) >= 100
    wrong = {
        name: held_by
        for name, held_by in told.items()
        if not held_by.startswith(_TOLD_BY_LESS.get(name, f"kept_in_c.{name}"))
        or "unnamed" in held_by
    }
    assert wrong == {}
