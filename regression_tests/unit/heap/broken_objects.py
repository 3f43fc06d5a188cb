"""A corpus of broken, half-built and hostile objects, and a process that looks at each of them.

Every maker returns something to keep alive, made through the C API where Python code cannot. Some
call ``look`` themselves: at a moment when what they build is in between two states.

``python broken_objects.py ENGINE`` prints one JSON object: the kind, and how a look at it ended.
``--mutate SECONDS`` keeps looking at all of them while threads change the heap.
"""

from __future__ import annotations

import array
import asyncio
import collections
import contextlib
import contextvars
import ctypes
import enum
import functools
import gc
import importlib
import io
import itertools
import json
import os
import queue
import random
import re
import signal
import sqlite3
import struct
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from typing import Any
from xml.parsers import expat

Look = Callable[[], None]
KINDS: dict[str, Callable[[Look], Any]] = {}
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_ONE_LOOK = 900  # seconds for all kinds at once, on a busy machine and under a sanitizer
_LOOKS_INSIDE = 2  # of one maker: a count and a walk
# What is loaded for each engine, and for the run that is watched.
_LIBRARIES = {"python": (), "compiled": ("numpy", "torch"), "--survivors": ("numpy",)}


def kind(make: Callable[[Look], Any]) -> Callable[[Look], Any]:
    """Enter a maker under its own name."""
    KINDS[make.__name__] = make
    return make


# ---- the C API -----------------------------------------------------------------------------------


def _api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_object, _size = ctypes.py_object, ctypes.c_ssize_t
new_list = _api("PyList_New", _object, _size)
new_tuple = _api("PyTuple_New", _object, _size)
new_cell = _api("PyCell_New", _object, ctypes.c_void_p)
new_bytes = _api("PyBytes_FromStringAndSize", _object, ctypes.c_void_p, _size)
new_text = _api("PyUnicode_New", _object, _size, ctypes.c_uint32)
new_integer = _api("_PyLong_New", _object, _size)
new_record = _api("PyStructSequence_New", _object, _object)
allocate = _api("PyType_GenericAlloc", _object, _object, _size)
untrack = _api("PyObject_GC_UnTrack", None, _object)
retain = _api("Py_IncRef", None, _object)


def blank(cls: type, items: int = 0) -> Any:
    """Allocate an instance and do nothing more; it is never freed, since that would read it."""
    made = allocate(cls, items)
    word_at(id(made)).value += 1  # an argument of ctypes would be asked for an attribute
    return made


def word_at(address: int) -> ctypes.c_size_t:
    return ctypes.c_size_t.from_address(address)


def store(sequence: list[Any], position: int, item: object) -> None:
    """Fill one slot of a list without looking at what was in it."""
    slots = word_at(id(sequence) + tuple.__basicsize__).value
    retain(item)
    word_at(slots + position * _POINTER).value = id(item)


def empty_slot(sequence: Any, position: int) -> None:
    """Make one slot of a list or a tuple NULL; its element is never freed."""
    slots = id(sequence) + tuple.__basicsize__
    if isinstance(sequence, list):
        slots = word_at(slots).value
    word_at(slots + position * _POINTER).value = 0


# ---- sequences with empty slots ------------------------------------------------------------------


class ListKind(list):  # type: ignore[type-arg]
    pass


class SlottedList(list):  # type: ignore[type-arg]
    __slots__ = ("first", "second")


class TupleKind(tuple):
    pass


Point = collections.namedtuple("Point", "x y z")


@kind
def list_of_empty_slots(look: Look) -> Any:
    return new_list(7)


@kind
def large_list_of_empty_slots(look: Look) -> Any:
    return new_list(100_000)


@kind
def list_filled_half_way(look: Look) -> Any:
    half = new_list(10)
    for position in range(5):
        store(half, position, {"number": position})
    return half


@kind
def list_with_one_hole(look: Look) -> Any:
    whole = [object() for _ in range(9)]
    empty_slot(whole, 4)
    return whole


@kind
def list_subclass_with_holes(look: Look) -> Any:
    whole = ListKind([[], {}, set()])
    whole.attribute = [1]
    empty_slot(whole, 0)
    empty_slot(whole, 2)
    return whole


@kind
def list_subclass_with_slots_and_its_own_class_in_one(look: Look) -> Any:
    whole = SlottedList([object(), SlottedList, object()])
    whole.first = SlottedList
    empty_slot(whole, 0)
    return whole


@kind
def list_of_half_built_lists_that_holds_itself(look: Look) -> Any:
    outer = new_list(4)
    store(outer, 0, new_list(2))
    store(outer, 1, outer)
    store(outer, 3, new_tuple(2))
    return outer


@kind
def untracked_list_of_empty_slots(look: Look) -> Any:
    half = new_list(3)
    untrack(half)
    return [half]


@kind
def tuple_of_empty_slots(look: Look) -> Any:
    return new_tuple(5)


@kind
def tuple_with_one_hole(look: Look) -> Any:
    whole = ([], [], [])
    empty_slot(whole, 1)
    return whole


@kind
def untracked_tuple_of_empty_slots(look: Look) -> Any:
    half = new_tuple(3)
    untrack(half)
    return [half]


@kind
def tuple_subclass_of_empty_slots(look: Look) -> Any:
    return blank(TupleKind, 5)


@kind
def named_tuple_of_empty_slots(look: Look) -> Any:
    return blank(Point, 3)


@kind
def named_tuple_with_one_hole(look: Look) -> Any:
    whole = Point([], [], [])
    empty_slot(whole, 1)
    return whole


@kind
def record_of_the_system_without_fields(look: Look) -> Any:
    return [new_record(os.stat_result), new_record(time.struct_time)]


@kind
def half_built_sequences_as_values_and_keys_of_attributes(look: Look) -> Any:
    holder = Plain()
    holder.values = new_list(3)
    holder.pair = (new_tuple(2), new_list(1))
    return holder


@kind
def deque_and_object_array_of_half_built_lists(look: Look) -> Any:
    held = collections.deque([new_list(2), new_tuple(2)], maxlen=4)
    return held, _object_array([new_list(2), new_tuple(1)])


def _object_array(items: list[Any]) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return items
    made = numpy.empty(len(items), dtype=object)
    for position, item in enumerate(items):
        made[position] = item
    return made


# ---- instances that were allocated and nothing more ----------------------------------------------


class Plain:
    pass


class Slotted:
    __slots__ = ("left", "right")


class Both(Slotted):
    pass


class DictKind(dict):  # type: ignore[type-arg]
    pass


class Hostage(Exception):
    pass


_BLANK: tuple[type, ...] = (
    dict, DictKind, collections.OrderedDict, collections.defaultdict, collections.Counter,
    set, frozenset, list, ListKind, tuple, TupleKind, SlottedList, collections.deque,
    types.FrameType, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType,
    types.BuiltinFunctionType, types.FunctionType, types.CellType, types.MethodType,
    types.ModuleType, types.TracebackType, types.SimpleNamespace, types.MappingProxyType,
    types.GenericAlias, types.CodeType, types.MethodWrapperType, types.WrapperDescriptorType,
    property, staticmethod, classmethod, super, slice, range, enumerate, reversed, zip, map, filter,
    memoryview, bytearray, weakref.ref,
    functools.partial, type(functools.lru_cache(len)), type(functools.cmp_to_key(len)),
    itertools.chain, itertools.product, itertools.permutations, itertools.combinations,
    itertools.groupby, itertools.cycle, itertools.islice, type(itertools.tee(())[0]),
    array.array, struct.Struct, io.BytesIO, io.StringIO, io.BufferedReader, io.TextIOWrapper,
    contextvars.Context, contextvars.ContextVar, contextvars.Token,
    queue.SimpleQueue, re.Pattern, re.Match, type(expat.ParserCreate()), sqlite3.Connection,
    sqlite3.Cursor, sqlite3.Row, asyncio.Future, asyncio.Task, threading.local,
    type(threading.RLock()), random.Random, os.stat_result, time.struct_time,
    type(iter([])), type(iter({})), type({}.keys()), type(iter(())), type(iter(set())),
    Plain, Slotted, Both, Point, Hostage, BaseException, OSError, StopIteration, SystemExit,
)  # fmt: skip


def _enter_blank(cls: type) -> None:
    def make(look: Look) -> Any:
        return blank(cls)

    home = "" if cls.__module__ == __name__ else f"{cls.__module__}_"
    KINDS[f"blank_{home}{cls.__qualname__}".replace(".", "_")] = make


for _cls in _BLANK:
    _enter_blank(_cls)


@kind
def blank_array_of_numpy(look: Look) -> Any:
    numpy = sys.modules.get("numpy")
    return numpy and [blank(numpy.ndarray), blank(type("Kind", (numpy.ndarray,), {}))]


@kind
def blank_tensor_of_torch(look: Look) -> Any:
    torch = sys.modules.get("torch")
    return torch and [blank(torch.Tensor), blank(type("Kind", (torch.Tensor,), {}))]


@kind
def blank_module_among_the_loaded(look: Look) -> Any:
    sys.modules["broken_blank"] = blank(types.ModuleType)
    sys.modules["broken_number"] = 3  # type: ignore[assignment]
    sys.modules[b"broken name"] = types.ModuleType("odd")  # type: ignore[index]
    try:
        look()
    finally:
        for name in ("broken_blank", "broken_number", b"broken name"):
            del sys.modules[name]  # type: ignore[arg-type]


@kind
def instances_that_no_init_saw(look: Look) -> Any:
    made: list[Any] = []
    for cls in _BLANK:
        try:
            made.append(cls.__new__(cls))
        except Exception:  # most say that they cannot be made so
            continue
    return made


@kind
def cell_without_contents_and_function_that_reads_it(look: Look) -> Any:
    def reads() -> object:
        return later  # noqa: F821 - unbound on purpose

    cell = new_cell(None)
    later = None
    del later
    return cell, reads


@kind
def blank_class(look: Look) -> Any:
    half = new_list(1)  # by its address: ctypes asks a class that it hands over for its name
    made = _api("PyType_GenericAlloc", ctypes.c_void_p, _object, _size)(type, 0)
    word_at(word_at(id(half) + tuple.__basicsize__).value).value = made
    return half


@kind
def code_without_parts(look: Look) -> Any:
    return types.SimpleNamespace(code=blank(types.CodeType))


# ---- bytes, texts and numbers that nobody wrote --------------------------------------------------


@kind
def bytes_that_nobody_wrote(look: Look) -> Any:
    return [new_bytes(None, 100_000), new_bytes(None, 3)]


@kind
def texts_that_nobody_wrote(look: Look) -> Any:
    return [new_text(50, 127), new_text(50, 255), new_text(50, 65_535), new_text(50, 1_114_111)]


@kind
def integer_that_nobody_wrote(look: Look) -> Any:
    return [new_integer(3)]


@kind
def attribute_names_that_are_no_texts(look: Look) -> Any:
    holder = Plain()
    holder.__dict__[3] = holder.__dict__["\udcff\x00 name"] = [1]
    return holder


# ---- classes that tell the collector nonsense ----------------------------------------------------

_VISIT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_TRAVERSE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_KEPT: list[Any] = []


def _traversed_by(tell: Callable[[Any, int, int], int]) -> Any:
    """Make an instance whose class traverses it so; the collector is off in this process."""

    def traverse(item: int, visit: int, argument: int) -> int:
        return tell(_VISIT(visit), argument, item)

    cls = type("Liar", (), {"__slots__": ("part",)})
    called = _TRAVERSE(traverse)
    _KEPT.append(called)
    address = ctypes.cast(called, ctypes.c_void_p).value
    assert address is not None
    word_at(id(cls) + (3 + 20) * _POINTER).value = address  # tp_traverse
    made = cls()
    retain(made)
    return made


@kind
def traversal_that_visits_nothing_as_something(look: Look) -> Any:
    return _traversed_by(lambda visit, argument, item: visit(None, argument))


@kind
def traversal_that_fails_without_a_reason(look: Look) -> Any:
    return _traversed_by(lambda visit, argument, item: -1)


@kind
def traversal_that_visits_itself_a_thousand_times(look: Look) -> Any:
    def tell(visit: Any, argument: int, item: int) -> int:
        for _ in range(1000):
            visit(item, argument)
        return 0

    return _traversed_by(tell)


# ---- moments in between --------------------------------------------------------------------------


@kind
def look_while_a_class_has_no_order_of_resolution(look: Look) -> Any:
    class Meta(type):
        def mro(cls) -> Any:
            held.append(cls)
            look()
            return super().mro()

    held: list[Any] = []
    return Meta("Made", (), {}), held


@kind
def look_while_a_class_names_its_parts(look: Look) -> Any:
    class Part:
        def __set_name__(self, owner: type, name: str) -> None:
            look()

    class Base:
        def __init_subclass__(cls) -> None:
            look()

    return type("Made", (Base,), {"part": Part()})


@kind
def look_while_a_list_is_sorted(look: Look) -> Any:
    looked = []

    def key(item: int) -> int:
        if not looked:
            looked.append(item)
            look()
        return -item

    numbers = list(range(50))
    numbers.sort(key=key)
    return numbers


@kind
def look_while_a_dict_compares_and_a_set_hashes(look: Look) -> Any:
    class Key:
        def __hash__(self) -> int:
            look()
            return 7

        def __eq__(self, other: object) -> bool:
            look()
            return False

    return {Key(): 1, Key(): 2}, {Key()}


@kind
def look_while_an_object_dies(look: Look) -> Any:
    class Dying:
        def __init__(self) -> None:
            self.around = [self]
            self.proxy = weakref.proxy(self)

        def __del__(self) -> None:
            look()

    dying = Dying()
    dying.around.clear()
    del dying


@kind
def look_while_a_weak_reference_calls_back(look: Look) -> Any:
    target = Plain()
    watching = weakref.ref(target, lambda reference: look())
    proxy = weakref.proxy(target, lambda reference: look())
    del target
    return watching, proxy


@kind
def look_while_an_instance_has_no_init_yet(look: Look) -> Any:
    class Late(DictKind):
        def __new__(cls) -> Any:
            made = super().__new__(cls)
            held.append(made)
            look()
            return made

    held: list[Any] = []
    return Late(), held


@kind
def look_while_generators_run(look: Look) -> Any:
    def inner() -> Any:
        look()
        yield 1

    def outer() -> Any:
        yield from inner()

    running = outer()
    next(running)
    finished = outer()
    list(finished)
    closed = outer()
    closed.close()
    return running, finished, closed


@kind
def look_while_coroutines_wait(look: Look) -> Any:
    async def source() -> Any:
        yield 1
        look()
        yield 2

    async def main() -> None:
        waiting = asyncio.ensure_future(asyncio.sleep(30))
        async for _ in source():
            await asyncio.sleep(0)
        look()
        waiting.cancel()

    asyncio.run(main())
    never = main()
    weakref.finalize(never, int)
    return never


@kind
def look_while_a_deque_is_filled_and_a_dict_is_updated(look: Look) -> Any:
    def source() -> Any:
        for number in range(3):
            look()
            yield number, [number]

    return (
        collections.deque(source(), maxlen=2),
        dict(source()),
        [*source()],
        set(map(str, source())),
    )


@kind
def look_while_a_trace_function_runs(look: Look) -> Any:
    def trace(frame: Any, event: str, argument: Any) -> None:
        sys.setprofile(None)
        look()

    sys.setprofile(trace)
    len([])
    sys.setprofile(None)


@kind
def look_while_a_value_is_made_for_a_missing_key(look: Look) -> Any:
    class Missing(collections.defaultdict):  # type: ignore[type-arg]
        def __missing__(self, key: object) -> list[int]:
            look()
            return [1]

    @functools.lru_cache(maxsize=2)
    def cached(number: int) -> list[int]:
        look()
        return [number]

    made = Missing(list)
    made[1]
    cached(1), cached(2), cached(3)
    return made, cached


@kind
def look_while_json_and_a_sorted_key_call_back(look: Look) -> Any:
    decoded = json.loads('[{"a": [1]}]', object_hook=lambda found: look() or found)
    return decoded, max([3, 1], key=lambda number: look() or number)


# ---- hostile Python ------------------------------------------------------------------------------


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
def cycles_through_object_arrays(look: Look) -> Any:
    ring = _object_array([None, None])
    ring[0], ring[1] = ring, [ring]
    return ring


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
        done.wait(_ONE_LOOK)
        del half, empty

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(_ONE_LOOK)
    look()
    done.set()
    thread.join()


# ---- looking at them -----------------------------------------------------------------------------


def looker(name: str) -> Callable[[Any], None]:
    """Return what looks at one object, or at everything, by one of the engines.

    Without an object it counts and walks by turns: a maker may ask for dozens of looks.
    """
    from heap_engines import ENGINES

    engine = next(engine for engine in ENGINES if engine.name == name)
    turns = itertools.cycle((True, False))

    def look(item: Any = None) -> None:
        counts = next(turns)
        if item is not None or counts:
            engine.census({"plain": Plain}, large=1000)
        if item is not None or not counts:
            engine.inspect(targets=[item], large=1000, tell_cycles=lambda *_: True)

    return look


def _in_child(act: Callable[[], None]) -> str:
    """Return how something ended in a copy of this process: ``fine``, or what went wrong."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(_ONE_LOOK)
        try:
            act()
        except BaseException as error:
            os.write(tell, f"{type(error).__name__}: {error}"[:500].encode())
            os._exit(1)
        os._exit(0)
    os.close(tell)
    _, status = os.waitpid(child, 0)
    with os.fdopen(told) as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(status)
    return "fine" if code == 0 else said or f"died: {code}"


def _at_most(times: int, look: Callable[[Any], None]) -> Look:
    left = iter(range(times))
    return lambda: None if next(left, None) is None else look(None)


def _looked_at(names: list[str], look: Callable[[Any], None]) -> Callable[[], None]:
    def act() -> None:
        kept = [KINDS[name](_at_most(_LOOKS_INSIDE, look)) for name in names]
        look(kept)

    return act


def verdicts(name: str) -> dict[str, str]:
    """Look at all kinds at once and, where that did not end well, at halves of them."""
    look = looker(name)
    return _ends(list(KINDS), lambda kinds: _in_child(_looked_at(kinds, look)))


def _ends(kinds: list[str], end: Callable[[list[str]], str]) -> dict[str, str]:
    said = end(kinds)
    if said == "fine" or len(kinds) == 1:
        return dict.fromkeys(kinds, said)
    middle = len(kinds) // 2
    return _ends(kinds[:middle], end) | _ends(kinds[middle:], end)


def survivors() -> list[str]:
    """Return the kinds that the interpreter's own collector survives, and the memory's teardown."""

    def collected(kinds: list[str]) -> str:
        def act() -> None:
            kept = [KINDS[kind](lambda: None) for kind in kinds]
            gc.collect()
            del kept
            gc.collect()

        return _in_child(act)

    gc.freeze()  # dozens of processes collect: what was there before is left out
    return [kind for kind, said in _ends(list(KINDS), collected).items() if said == "fine"]


def mutate(name: str, seconds: float) -> int:
    """Look again and again while two threads change the heap; return how many looks there were.

    Traversals that are written in Python are left out: other threads run in the middle of them, as
    they never do in one that is written in C.
    """
    look, end, stop = looker(name), time.monotonic() + seconds, threading.Event()
    kept = [make(lambda: None) for kind, make in KINDS.items() if "traversal" not in kind]
    threads = [threading.Thread(target=_churn, args=(stop,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    looks = 0
    while time.monotonic() < end:
        look(kept)
        looks += 1
    stop.set()
    for thread in threads:
        thread.join()
    return looks


def _churn(stop: threading.Event) -> None:
    chance, held = random.Random(0), collections.deque(maxlen=500)  # type: ignore[var-annotated]
    while not stop.is_set():
        thing: Any = chance.choice((Plain, ListKind, DictKind, new_list, dict, Both))
        made = thing(5) if thing is new_list else thing()
        if type(made) in (Plain, Both):
            setattr(made, f"attribute_{chance.randrange(40)}", [made, held])
        elif type(made) in (dict, DictKind):
            made.update((number, [number]) for number in range(chance.randrange(30)))
        held.append(made)
        held[chance.randrange(len(held))] = made


def main(arguments: list[str]) -> None:
    gc.disable()  # it would itself die of some of these
    # Walks in pure Python take their time: the libraries bring most of the objects.
    for library in _LIBRARIES[arguments[0]]:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    sys.stdout.flush()
    if arguments[0] == "--survivors":
        found: object = survivors()
    elif arguments[1:2] == ["--mutate"]:
        found = mutate(arguments[0], float(arguments[2]))
    else:
        found = verdicts(arguments[0])
    print(json.dumps(found), flush=True)
    os._exit(0)  # nothing is torn down: that would read what is broken


if __name__ == "__main__":
    main(sys.argv[1:])
