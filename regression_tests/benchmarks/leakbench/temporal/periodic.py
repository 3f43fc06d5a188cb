"""Leaks that come every k-th generation."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace


class Checkpoint:
    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.weights = bytearray(60_000)


class Trainer:
    def __init__(self) -> None:
        self.checkpoints: list[Checkpoint] = []
        self.curves: dict[int, list[float]] = {}

    def save(self, generation: int, keep_all: bool) -> None:
        self.checkpoints.append(Checkpoint(generation))
        if not keep_all:
            del self.checkpoints[:-1]


@leaking("save", type="Checkpoint", holder=".checkpoints", start=3, within=3, size=60_350 / 3)
def every_third_generation(guard: Any, leak: bool) -> None:
    trainer = Trainer()
    for generation in guard.generations(range(1, 91)):
        with guard.phase("train"):
            pace(30)
        with guard.phase("save"):
            if generation % 3 == 0:
                trainer.save(generation, keep_all=leak)
            pace(10)


class Feed:
    """A connection that is made anew now and then; its listeners should go with the old one."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[bytes], None]] = []

    def connect(self, forget: bool) -> None:
        if forget:
            self.listeners.clear()
        for _ in range(20):
            inbox = bytearray(1_500)
            self.listeners.append(inbox.extend)


@leaking("connect", type="bytearray builtin_function_or_method", holder=".listeners", start=7,
         within=7, size=20 * 1_640 / 7)  # fmt: skip
def every_seventh_generation(guard: Any, leak: bool) -> None:
    feed = Feed()
    feed.connect(forget=True)
    for generation in guard.generations(range(1, 141)):
        with guard.phase("connect"):
            if generation % 7 == 0:
                feed.connect(forget=not leak)
            pace(10)
        with guard.phase("read"):
            pace(15)


@leaking("report", type="StreamHandler", holder="handlers", start=10, within=10,
         size=30_400 / 10)  # fmt: skip
def every_tenth_generation(guard: Any, leak: bool) -> None:
    logger = logging.getLogger("leakbench.report")
    logger.propagate = False
    for generation in guard.generations(range(1, 201)):
        with guard.phase("train"):
            pace(12)
        with guard.phase("report"):
            if generation % 10 == 0:
                handler = logging.StreamHandler(Sink())
                logger.addHandler(handler)
                logger.warning("generation %d", generation)
                if not leak:
                    logger.removeHandler(handler)
                    handler.close()
                del handler
            pace(6)


class Sink:
    def __init__(self) -> None:
        self.text = bytearray(30_000)

    def write(self, text: str) -> None:
        self.text[: len(text)] = text.encode()

    def flush(self) -> None:
        pass


class Chart:
    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.points = [float(generation + i) for i in range(3_000)]


class Dashboard:
    def __init__(self) -> None:
        self.charts: dict[int, Chart] = {}


@leaking("draw", type="Chart float list", holder=".charts", start=25, within=25,
         size=3_000 * 32 / 25)  # fmt: skip
def every_twenty_fifth_generation(guard: Any, leak: bool) -> None:
    dashboard = Dashboard()
    for generation in guard.generations(range(1, 401)):
        with guard.phase("draw"):
            if generation % 25 == 0:
                if not leak:
                    dashboard.charts.clear()
                dashboard.charts[generation] = Chart(generation)
            pace(5)
        with guard.phase("train"):
            pace(7)


class Archive:
    def __init__(self) -> None:
        self.tables: list[dict[str, bytes]] = []


@leaking("rotate", type="dict bytes", holder=".tables", start=50, within=50, size=50 * 3_100 / 50)
def every_fiftieth_generation(guard: Any, leak: bool) -> None:
    archive = Archive()
    for generation in guard.generations(range(1, 1001)):
        with guard.phase("write"):
            pace(4)
        with guard.phase("rotate"):
            if generation % 50 == 0:
                table = {f"row {i}": bytes(3_000) for i in range(50)}
                archive.tables = [*archive.tables, table] if leak else [table]
                del table
            pace(2)
