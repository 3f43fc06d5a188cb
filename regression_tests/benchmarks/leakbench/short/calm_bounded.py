"""Healthy programs that are bounded although it takes them long to reach their bound."""

from __future__ import annotations

import functools
import queue
import time
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, healthy, work


class Document:
    def __init__(self, number: int) -> None:
        self.number = number
        self.text = bytes(3_000)


class LeastRecentlyUsed:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.entries: OrderedDict[int, Document] = OrderedDict()

    def get(self, number: int) -> Document:
        if number not in self.entries:
            self.entries[number] = Document(number)
        self.entries.move_to_end(number)
        if len(self.entries) > self.capacity:
            self.entries.popitem(last=False)
        return self.entries[number]


@healthy
def own_lru_cache_fills_up(guard: Any) -> None:
    cache = LeastRecentlyUsed(300)
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            for i in range(60):
                cache.get(generation * 100 + i)
            work()
        with guard.phase("report"):
            work()


@healthy
def own_lru_cache_still_filling(guard: Any) -> None:
    cache = LeastRecentlyUsed(5_000)
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            for i in range(60):
                cache.get(generation * 100 + i)
            work()
        with guard.phase("report"):
            work()


@functools.lru_cache(maxsize=4_000)
def _document(number: int) -> Document:
    return Document(number)


@healthy
def lru_cache_still_filling(guard: Any) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            for i in range(50):
                _document(generation * 100 + i)
            work()
        with guard.phase("report"):
            work()


@healthy
def bounded_queue_still_filling(guard: Any) -> None:
    inbox: queue.Queue[Document] = queue.Queue(maxsize=2_000)
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            for i in range(40):
                inbox.put(Document(generation * 100 + i))
            work()
        with guard.phase("report"):
            work()


@healthy
def log_rotated(guard: Any) -> None:
    lines: list[str] = []
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            lines.extend(f"generation {generation}, line {i} of the log" for i in range(300))
            if len(lines) > 1_000:
                del lines[:-100]
            work()
        with guard.phase("report"):
            work()


@healthy
def batch_grows_then_shrinks(guard: Any) -> None:
    sizes = (20, 40, 60, 80, 100, 90, 70, 50, 30, 20)
    batch: list[Document] = []
    for generation in guard.generations(ROUNDS):
        with guard.phase("load"):
            batch = [Document(i) for i in range(sizes[generation - 1] * 3)]
            work()
        with guard.phase("train"):
            assert batch
            work()


@healthy
def code_compiled_at_first_use(guard: Any) -> None:
    compiled: dict[str, Any] = {}
    for generation in guard.generations(ROUNDS):
        with guard.phase("trace"):
            for i in range(30 if generation <= 3 else 0):
                name = f"kernel_{generation}_{i}"
                space: dict[str, Any] = {}
                exec(f"def {name}(x):\n    return x * {i} + {generation}", space)
                compiled[name] = space[name]
            work()
        with guard.phase("run"):
            sum(kernel(1) for kernel in compiled.values())
            work()


@healthy
def worker_threads_started_on_demand(guard: Any) -> None:
    pool = ThreadPoolExecutor(4)
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            wanted = min(generation, 4)
            for future in [pool.submit(time.sleep, 0.02) for _ in range(wanted)]:
                future.result()
            work()
        with guard.phase("report"):
            work()
    pool.shutdown()


@healthy
def window_replaced_each_round(guard: Any) -> None:
    windows: deque[list[Document]] = deque(maxlen=3)
    for generation in guard.generations(ROUNDS):
        with guard.phase("collect"):
            windows.append([Document(generation * 100 + i) for i in range(50)])
            work()
        with guard.phase("train"):
            work()
