"""The same plain leak at other times, in other places and in other sizes."""

from __future__ import annotations

from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, leaking, work


class Ticket:
    def __init__(self, number: int) -> None:
        self.number = number
        self.notes = bytearray(5_000)


class Label:
    def __init__(self, number: int) -> None:
        self.number = number


class Desk:
    def __init__(self) -> None:
        self.open: list[Ticket] = []
        self.closed: list[Ticket] = []
        self.labels: list[Label] = []

    def take(self, count: int, leak: bool) -> None:
        self.open = [Ticket(i) for i in range(count)]
        if leak:
            self.closed.extend(self.open)


@leaking("close", type="Ticket", holder=".closed", start=4)
def starts_at_generation_four(guard: Any, leak: bool) -> None:
    desk = Desk()
    for generation in guard.generations(ROUNDS):
        with guard.phase("open"):
            work()
        with guard.phase("close"):
            desk.take(30, leak and generation >= 4)
            work()


@leaking("close", type="Ticket", holder=".closed", start=2)
def every_second_generation(guard: Any, leak: bool) -> None:
    desk = Desk()
    for generation in guard.generations(ROUNDS):
        with guard.phase("open"):
            work()
        with guard.phase("close"):
            desk.take(30, leak and generation % 2 == 0)
            work()


@leaking("label", type="Label", holder=".labels")
def ten_small_objects(guard: Any, leak: bool) -> None:
    desk = Desk()
    for generation in guard.generations(ROUNDS):
        with guard.phase("open"):
            desk.take(30, leak=False)
            work()
        with guard.phase("label"):
            if not leak:
                desk.labels.clear()
            desk.labels.extend(Label(generation * 10 + i) for i in range(10))
            work()


@leaking("day/archive archive", type="Ticket", holder=".closed")
def nested_phase(guard: Any, leak: bool) -> None:
    desk = Desk()
    for _ in guard.generations(ROUNDS):
        with guard.phase("day"):
            work(5)
            with guard.phase("open"):
                work(5)
            with guard.phase("archive"):
                desk.take(25, leak)
                work(5)
        with guard.phase("night"):
            work(5)


@leaking(None, type="Ticket", holder=".closed")
def outside_any_phase(guard: Any, leak: bool) -> None:
    desk = Desk()
    for _ in guard.generations(ROUNDS):
        with guard.phase("open"):
            work()
        desk.take(25, leak)
        with guard.phase("close"):
            work()


@leaking("close", type="Ticket", holder=".closed")
def amount_varies(guard: Any, leak: bool) -> None:
    desk = Desk()
    for generation in guard.generations(ROUNDS):
        with guard.phase("open"):
            work()
        with guard.phase("close"):
            desk.take(20 + generation * 7 % 13, leak)
            work()


@leaking("close", type="Ticket", holder=".closed")
def under_a_sawtooth(guard: Any, leak: bool) -> None:
    desk = Desk()
    batch: list[bytearray] = []
    for generation in guard.generations(ROUNDS):
        with guard.phase("batch"):
            if generation % 3 == 0:
                batch.clear()
            batch.extend(bytearray(40_000) for _ in range(20))
            work()
        with guard.phase("close"):
            desk.take(25, leak)
            work()


@leaking("close", type="Ticket", holder=".closed")
def while_a_cache_warms_up(guard: Any, leak: bool) -> None:
    desk = Desk()
    cache: dict[int, bytes] = {}
    for generation in guard.generations(ROUNDS):
        with guard.phase("look_up"):
            for i in range(40):
                cache.setdefault(min(generation, 4) * 100 + i, bytes(4_000))
            work()
        with guard.phase("close"):
            desk.take(25, leak)
            work()
