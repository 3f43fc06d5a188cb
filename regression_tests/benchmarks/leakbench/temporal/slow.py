"""Leaks that are slow, or grow under something larger that comes and goes."""

from __future__ import annotations

import io
from collections import deque
from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace


class Order:
    def __init__(self, number: int) -> None:
        self.number = number
        self.note = bytes(600)


class Market:
    def __init__(self) -> None:
        self.ticks: list[bytearray] = []
        self.orders: list[Order] = []
        self.rejected: list[Order] = []
        self.batch: list[Order] = []
        self.window: deque[Order] = deque(maxlen=1_600)


@leaking("match", type="Order", holder=".rejected", within=4, size=6 * 830)
def slow_under_a_tooth(guard: Any, leak: bool) -> None:
    market = Market()
    for generation in guard.generations(range(1, 121)):
        with guard.phase("collect"):
            if generation % 15 == 0:
                market.ticks.clear()
            market.ticks.extend(bytearray(20_000) for _ in range(8))
            pace(20)
        with guard.phase("match"):
            market.orders = [Order(i) for i in range(60)]
            if leak:
                market.rejected.extend(market.orders[::10])
            pace(20)


class Player:
    def __init__(self, number: int) -> None:
        self.number = number
        self.badge = bytes(1_500)


class Lobby:
    def __init__(self) -> None:
        self.players: list[Player] = [Player(-1) for _ in range(3)]


@leaking("join", type="Player", holder=".players", within=40, size=3 * 1_650)
def three_objects_a_generation(guard: Any, leak: bool) -> None:
    lobby = Lobby()
    for generation in guard.generations(range(1, 2001)):
        with guard.phase("join"):
            lobby.players += [Player(generation) for _ in range(3)]
            if not leak:
                del lobby.players[:3]
            pace(2)
        with guard.phase("play"):
            pace(3)


@leaking("flush", type="Order", holder=".batch", start=20, within=20, size=60 * 830 / 20)
def residue_of_every_flush(guard: Any, leak: bool) -> None:
    market = Market()
    for generation in guard.generations(range(1, 201)):
        with guard.phase("collect"):
            market.batch.extend(Order(i) for i in range(15))
            pace(12)
        with guard.phase("flush"):
            if generation % 20 == 0:
                left = market.batch[-60:] if leak else []
                market.batch = [order for order in market.batch if order.number < 0] + left
                if leak:
                    for order in left:
                        order.number = -1
                del left
            pace(8)


@leaking("match", type="Order", holder=".rejected", within=4, size=10 * 830)
def under_a_fill(guard: Any, leak: bool) -> None:
    market = Market()
    for _ in guard.generations(range(1, 101)):
        with guard.phase("collect"):
            market.window.extend(Order(i) for i in range(25))
            pace(20)
        with guard.phase("match"):
            rejected = [Order(i) for i in range(10)]
            if leak:
                market.rejected += rejected
            del rejected
            pace(20)


class Recorder:
    def __init__(self) -> None:
        self.sheet = io.BytesIO()


@leaking("write", type="BytesIO", holder=".sheet", within=4, size=8_000)
def one_object_that_grows(guard: Any, leak: bool) -> None:
    recorder = Recorder()
    for generation in guard.generations(range(1, 151)):
        with guard.phase("measure"):
            pace(12)
        with guard.phase("write"):
            if not leak and generation % 2 == 0:
                recorder.sheet.seek(0)
                recorder.sheet.truncate()
            recorder.sheet.write(bytes(8_000))
            pace(8)
