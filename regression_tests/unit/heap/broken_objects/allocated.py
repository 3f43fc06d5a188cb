"""Instances that were allocated and nothing more; bytes, texts and numbers that nobody wrote."""

from __future__ import annotations

import array
import asyncio
import collections
import contextvars
import ctypes
import functools
import io
import itertools
import os
import queue
import random
import re
import sqlite3
import struct
import sys
import threading
import time
import types
import weakref
from typing import Any
from xml.parsers import expat

from broken_objects.c_api import (
    OBJECT,
    SIZE,
    api,
    blank,
    new_bytes,
    new_cell,
    new_integer,
    new_list,
    new_text,
    word_at,
)
from broken_objects.classes import (
    Both,
    DictKind,
    Hostage,
    ListKind,
    Plain,
    Point,
    Slotted,
    SlottedList,
    TupleKind,
)
from broken_objects.kinds import KINDS, Look, kind

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

    home = "" if cls.__module__ == Plain.__module__ else f"{cls.__module__}_"
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
    made = api("PyType_GenericAlloc", ctypes.c_void_p, OBJECT, SIZE)(type, 0)
    word_at(word_at(id(half) + tuple.__basicsize__).value).value = made
    return half


@kind
def code_without_parts(look: Look) -> Any:
    return types.SimpleNamespace(code=blank(types.CodeType))


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
