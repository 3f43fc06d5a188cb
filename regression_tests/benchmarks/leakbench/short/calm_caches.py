"""Healthy programs whose objects pile up for a while, or for a reason."""

from __future__ import annotations

import functools
import importlib
import logging
import logging.handlers
import random
import re
import sys
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, healthy, work


class Entry:
    def __init__(self, number: int) -> None:
        self.number = number
        self.value = bytearray(3_000)


class Cache:
    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.recent: deque[Entry] = deque(maxlen=240)
        self.buffer: list[Entry] = []


@healthy
def cache_warms_up(guard: Any) -> None:
    cache = Cache()
    for generation in guard.generations(ROUNDS):
        with guard.phase("look_up"):
            for i in range(40):
                key = min(generation, 4) * 100 + i
                cache.entries.setdefault(key, Entry(key))
            work()
        with guard.phase("answer"):
            work()


@healthy
def bounded_deque_fills(guard: Any) -> None:
    cache = Cache()
    for generation in guard.generations(ROUNDS):
        with guard.phase("collect"):
            cache.recent.extend(Entry(generation * 100 + i) for i in range(40))
            work()
        with guard.phase("train"):
            work()


@healthy
def bounded_deque_still_filling(guard: Any) -> None:
    history: deque[Entry] = deque(maxlen=5_000)
    for generation in guard.generations(ROUNDS):
        with guard.phase("collect"):
            history.extend(Entry(generation * 100 + i) for i in range(40))
            work()
        with guard.phase("train"):
            work()


@functools.lru_cache(maxsize=128)
def _entry(number: int) -> Entry:
    return Entry(number)


@healthy
def bounded_lru_cache_fills(guard: Any) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("look_up"):
            for i in range(25):
                _entry(generation * 100 + i)
            work()
        with guard.phase("answer"):
            work()


@healthy
def buffer_flushed_every_third(guard: Any) -> None:
    cache = Cache()
    for generation in guard.generations(ROUNDS):
        with guard.phase("collect"):
            cache.buffer.extend(Entry(generation * 100 + i) for i in range(30))
            work()
        with guard.phase("flush"):
            if generation % 3 == 0:
                cache.buffer.clear()
            work()


@healthy
def staircase_of_two_steps(guard: Any) -> None:
    cache = Cache()
    for generation in guard.generations(ROUNDS):
        with guard.phase("resize"):
            if generation in (2, 5):
                cache.buffer.extend(Entry(i) for i in range(300))
            work()
        with guard.phase("serve"):
            work()


@healthy
def slow_saturation(guard: Any) -> None:
    cache = Cache()
    chance = random.Random(3)
    for _ in guard.generations(ROUNDS):
        with guard.phase("look_up"):
            for _ in range(200):
                key = chance.randrange(400)
                cache.entries.setdefault(key, Entry(key))
            work()
        with guard.phase("answer"):
            work()


@healthy
def bursts(guard: Any) -> None:
    cache = Cache()
    for generation in guard.generations(ROUNDS):
        with guard.phase("collect"):
            if generation in (3, 7, 8):
                cache.buffer.extend(Entry(i) for i in range(400))
            work()
        with guard.phase("drain"):
            if generation not in (3, 7):
                cache.buffer.clear()
            work()


@healthy
def modules_imported_lazily(guard: Any) -> None:
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)
    names = ("colorsys", "wave", "statistics", "plistlib", "mailbox", "tarfile")
    for generation in guard.generations(ROUNDS):
        with guard.phase("plugins"):
            if generation <= len(names):
                importlib.import_module(names[generation - 1])
            work()
        with guard.phase("serve"):
            work()


@healthy
def weak_value_cache(guard: Any) -> None:
    living: weakref.WeakValueDictionary[int, Entry] = weakref.WeakValueDictionary()
    for generation in guard.generations(ROUNDS):
        with guard.phase("load"):
            entries = [Entry(generation * 100 + i) for i in range(50)]
            living.update({entry.number: entry for entry in entries})
            work()
        with guard.phase("use"):
            sum(entry.number for entry in living.values())
            work()


@healthy
def counts_that_jitter(guard: Any) -> None:
    cache = Cache()
    chance = random.Random(11)
    for _ in guard.generations(ROUNDS):
        with guard.phase("match"):
            cache.buffer = [Entry(i) for i in range(chance.randrange(80, 120))]
            work()
        with guard.phase("play"):
            work()


@healthy
def names_interned_once(guard: Any) -> None:
    known: set[str] = set()
    chance = random.Random(5)
    for _ in guard.generations(ROUNDS):
        with guard.phase("tokenise"):
            for _ in range(600):
                known.add(sys.intern(f"token-{chance.randrange(500)}"))
            work()
        with guard.phase("count"):
            work()


@healthy
def patterns_compiled(guard: Any) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("parse"):
            for i in range(12):
                re.compile(f"field{min(generation, 4)}_{i}=([a-z]+)").match("field1_1=abc")
            work()
        with guard.phase("serve"):
            work()


@healthy
def pool_grows_to_its_size(guard: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        for generation in guard.generations(ROUNDS):
            with guard.phase("submit"):
                list(pool.map(Entry, range(generation * 20, generation * 20 + 20)))
                work()
            with guard.phase("serve"):
                work()


@healthy
def log_lines_in_a_ring(guard: Any) -> None:
    logger = logging.getLogger("leakbench.ring")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    target = logging.NullHandler()
    logger.addHandler(logging.handlers.MemoryHandler(120, target=target))
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            for i in range(50):
                logger.info("request %d of generation %d", i, generation)
            work()
        with guard.phase("idle"):
            work()


@healthy
def workers_scale_up_then_stay(guard: Any) -> None:
    cache = Cache()
    for generation in guard.generations(ROUNDS):
        with guard.phase("scale"):
            while len(cache.buffer) < min(generation, 4) * 6:
                cache.buffer.append(Entry(len(cache.buffer)))
            work()
        with guard.phase("serve"):
            work()


class Parent:
    def __init__(self) -> None:
        self.payload = bytearray(20_000)
        self.child = Child(self)


class Child:
    def __init__(self, parent: Any) -> None:
        self.parent = parent


@healthy
def cycles_the_collector_frees(guard: Any) -> None:
    for _ in guard.generations(ROUNDS):
        with guard.phase("build"):
            for _ in range(800):
                Parent()
            work()
        with guard.phase("serve"):
            work()
