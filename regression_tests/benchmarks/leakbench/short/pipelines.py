"""Data pipelines: records stream through, and some of them stay."""

from __future__ import annotations

import queue
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, leaking, work


class Record:
    def __init__(self, number: int) -> None:
        self.number = number
        self.fields = {"name": f"record {number}", "value": number * 0.5}


class Pipeline:
    def __init__(self, window: int | None) -> None:
        self.history: list[Record] = []
        self.window: deque[Record] = deque(maxlen=window)
        self.chunks: dict[int, bytes] = {}
        self.seen: set[str] = set()
        self.totals: dict[str, list[float]] = defaultdict(list)
        self.cursors: list[Iterator[int]] = []
        self.models: list[type] = []


@leaking("transform read", type="Record", holder=".history")
def list_history(guard: Any, leak: bool) -> None:
    pipeline = Pipeline(None)
    for generation in guard.generations(ROUNDS):
        with guard.phase("read"):
            records = [Record(generation * 1000 + i) for i in range(200)]
            work()
        with guard.phase("transform"):
            pipeline.history.extend(records)
            if not leak:
                del pipeline.history[:-200]
            work()


@leaking("window", type="Record", holder=".window")
def deque_without_maxlen(guard: Any, leak: bool) -> None:
    pipeline = Pipeline(None if leak else 300)
    for generation in guard.generations(ROUNDS):
        with guard.phase("window"):
            pipeline.window.extend(Record(generation * 1000 + i) for i in range(150))
            work()
        with guard.phase("aggregate"):
            sum(record.number for record in pipeline.window)
            work()


@leaking("download", type="bytes dict", holder=".chunks")
def bytes_cache(guard: Any, leak: bool) -> None:
    pipeline = Pipeline(None)
    for generation in guard.generations(ROUNDS):
        with guard.phase("download"):
            for i in range(10):
                pipeline.chunks[generation * 100 + i if leak else i] = bytes(100_000)
            work()
        with guard.phase("decode"):
            work()


@leaking("dedupe read", type="str set", holder=".seen")
def dedupe_set(guard: Any, leak: bool) -> None:
    pipeline = Pipeline(None)
    for generation in guard.generations(ROUNDS):
        with guard.phase("read"):
            keys = [f"urn:message:{generation:06d}:{i:08d}" for i in range(2000)]
            work()
        with guard.phase("dedupe"):
            fresh = [key for key in keys if key not in pipeline.seen]
            pipeline.seen.update(fresh)
            if not leak:
                pipeline.seen.difference_update(keys)
            work()


@leaking("aggregate", type="list float str dict defaultdict", holder=".totals")
def totals_by_user(guard: Any, leak: bool) -> None:
    pipeline = Pipeline(None)
    for generation in guard.generations(ROUNDS):
        with guard.phase("read"):
            work()
        with guard.phase("aggregate"):
            for i in range(300):
                user = generation * 300 + i if leak else i
                pipeline.totals[f"user {user}"][:] = [i * 0.25, i * 0.5, i * 0.75]
            work()


def _rows(number: int) -> Iterator[int]:
    block = bytearray(20_000)
    for index in range(len(block)):
        yield block[index] + number


@leaking("open", type="generator bytearray", holder=".cursors")
def suspended_generators(guard: Any, leak: bool) -> None:
    pipeline = Pipeline(None)
    for generation in guard.generations(ROUNDS):
        with guard.phase("open"):
            if not leak:
                pipeline.cursors.clear()
            for i in range(12):
                cursor = _rows(generation * 100 + i)
                next(cursor)
                pipeline.cursors.append(cursor)
            work()
        with guard.phase("fetch"):
            sum(next(cursor) for cursor in pipeline.cursors)
            work()


class Job:
    def __init__(self, number: int) -> None:
        self.number = number
        self.payload = bytearray(4_000)


@leaking("produce", type="Job", holder=".inbox .queue", kind="queue instances container")
def queue_outgrows_consumer(guard: Any, leak: bool) -> None:
    class Stage:
        def __init__(self) -> None:
            self.inbox: queue.Queue[Job] = queue.Queue()

    stage = Stage()
    for generation in guard.generations(ROUNDS):
        with guard.phase("produce"):
            for i in range(40):
                stage.inbox.put(Job(generation * 100 + i))
            work()
        with guard.phase("consume"):
            for _ in range(15 if leak else 40):
                stage.inbox.get()
            work()


class Node:
    __slots__ = ("children", "name", "parent")

    def __init__(self, name: str, parent: Any) -> None:
        self.name = name
        self.parent = parent
        self.children: list[Node] = []


@leaking("index", type="Node", holder=".children")
def slots_tree(guard: Any, leak: bool) -> None:
    root = Node("root", None)
    for generation in guard.generations(ROUNDS):
        with guard.phase("index"):
            if not leak:
                root.children.clear()
            branch = Node(f"batch {generation}", root)
            root.children.append(branch)
            for i in range(25):
                branch.children.append(Node(f"leaf {generation}.{i}", branch))
            work()
        with guard.phase("search"):
            work()


@leaking("infer_schema", type="type", holder=".models")
def classes_made_each_round(guard: Any, leak: bool) -> None:
    pipeline = Pipeline(None)
    for generation in guard.generations(ROUNDS):
        with guard.phase("infer_schema"):
            if not leak:
                pipeline.models.clear()
            for i in range(5):
                pipeline.models.append(type(f"Row{generation}x{i}", (), {"columns": ["a", "b"]}))
            work()
        with guard.phase("validate"):
            work()


@leaking("read", type="ndarray", holder=".heads")
def views_of_big_arrays(guard: Any, leak: bool) -> None:
    import numpy as np

    class Preview:
        def __init__(self) -> None:
            self.heads: list[Any] = []

    preview = Preview()
    for generation in guard.generations(ROUNDS):
        with guard.phase("read"):
            table = np.full(100_000, float(generation))
            if leak:
                preview.heads.append(table[:5])
            else:
                preview.heads = [table[:5].copy()]
            del table
            work()
        with guard.phase("summarise"):
            work()


class Episode:
    def __init__(self, number: int) -> None:
        self.number = number
        self.rewards = [number * 0.1] * 100


@leaking("store play", type="Episode ndarray", holder=".slots")
def object_array(guard: Any, leak: bool) -> None:
    import numpy as np

    class Archive:
        def __init__(self) -> None:
            self.slots = np.empty(50, dtype=object)
            self.used = 0

    archive = Archive()
    for generation in guard.generations(ROUNDS):
        with guard.phase("play"):
            episodes = [Episode(generation * 100 + i) for i in range(30)]
            work()
        with guard.phase("store"):
            if not leak:
                archive.used = 0
            for episode in episodes:
                if archive.used == len(archive.slots):
                    archive.slots = np.concatenate([archive.slots, np.empty(50, dtype=object)])
                archive.slots[archive.used] = episode
                archive.used += 1
            work()
