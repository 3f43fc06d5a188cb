"""Healthy: what fills, warms up or steps for a long while, and then stays."""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from typing import Any

from regression_tests.benchmarks.leakbench.program import healthy, pace


class Page:
    def __init__(self, number: int) -> None:
        self.number = number
        self.text = bytearray(3_000)


class Store:
    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.pages: OrderedDict[int, Page] = OrderedDict()
        self.extra: list[Page] = []

    def get(self, number: int) -> Page:
        if number not in self.pages:
            self.pages[number] = Page(number)
        if len(self.pages) > self.limit:
            self.pages.popitem(last=False)
        return self.pages.get(number) or Page(number)


@functools.lru_cache(maxsize=500)
def _page(number: int) -> Page:
    return Page(number)


@healthy
def lru_cache_fills_in_twenty(guard: Any) -> None:
    for generation in guard.generations(range(1, 61)):
        with guard.phase("look_up"):
            for i in range(25):
                _page(generation * 25 + i)
            pace(30)
        with guard.phase("answer"):
            pace(20)


@healthy
def own_bounded_cache_fills_in_twenty_five(guard: Any) -> None:
    store = Store(limit=500)
    for generation in guard.generations(range(1, 71)):
        with guard.phase("look_up"):
            for i in range(20):
                store.get(generation * 20 + i)
            pace(30)
        with guard.phase("answer"):
            pace(20)


@healthy
def cache_that_begins_to_fill_late(guard: Any) -> None:
    store = Store(limit=600)
    for generation in guard.generations(range(1, 151)):
        with guard.phase("look_up"):
            if generation >= 50:
                for i in range(20):
                    store.get(generation * 20 + i)
            pace(20)
        with guard.phase("answer"):
            pace(15)


@healthy
def one_more_in_each_of_generations_3_to_8(guard: Any) -> None:
    store = Store()
    for generation in guard.generations(range(1, 101)):
        with guard.phase("scale"):
            if 3 <= generation <= 8:
                store.extra.append(Page(generation))
            pace(15)
        with guard.phase("serve"):
            pace(15)


@healthy
def memory_doubles_in_forty_and_is_flat(guard: Any) -> None:
    store = Store()
    base = bytearray(b"\1") * 30_000_000
    for generation in guard.generations(range(1, 61)):
        with guard.phase("load"):
            if generation <= 40:
                store.extra.extend(Page(i) for i in range(250))
            pace(40)
        with guard.phase("serve"):
            pace(40)
    del base


@healthy
def pool_that_doubles(guard: Any) -> None:
    store = Store()
    for generation in guard.generations(range(1, 161)):
        with guard.phase("grow"):
            if generation & (generation - 1) == 0 and generation <= 64:
                store.extra.extend(Page(i) for i in range(len(store.extra) or 8))
            pace(12)
        with guard.phase("serve"):
            pace(12)


@healthy
def bounded_history_of_forty(guard: Any) -> None:
    history: deque[dict[str, Any]] = deque(maxlen=40)
    for generation in guard.generations(range(1, 131)):
        with guard.phase("train"):
            pace(20)
        with guard.phase("record"):
            history.append({"generation": generation, "scores": [float(i) for i in range(200)]})
            pace(10)


@healthy
def warm_up_of_forty(guard: Any) -> None:
    store = Store()
    known: set[int] = set()
    for generation in guard.generations(range(1, 111)):
        with guard.phase("parse"):
            kind = generation if generation <= 40 else generation % 40
            if kind not in known:
                known.add(kind)
                store.extra.extend(Page(i) for i in range(max(1, 40 - generation)))
            pace(20)
        with guard.phase("serve"):
            pace(15)


@healthy
def staircase_of_three_steps(guard: Any) -> None:
    store = Store()
    for generation in guard.generations(range(1, 151)):
        with guard.phase("admit"):
            if generation in (20, 45, 70):
                store.extra.extend(Page(i) for i in range(200))
            pace(15)
        with guard.phase("serve"):
            pace(15)
