"""A loop over three million objects, watched, traced or left alone, with its times taken."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

from leakguard import LeakGuard, phase
from regression_tests.benchmarks.overhead.stopwatch import Measured, Stopwatch
from regression_tests.benchmarks.overhead.variants import GUARDED, tracer

_ORDERS = 1_500_000
_REPLACED = 75_000  # a generation
_PASSES = 80


class Order:
    """One object, and one more for its amounts."""

    __slots__ = ("amounts", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.amounts = [number, number + 1]


def trade(variant: str, generations: int, folder: Path, stopwatch: Stopwatch) -> Measured:
    """Replace some orders and add all up, in each generation."""
    orders = [Order(number) for number in range(_ORDERS)]
    rounds: Iterable[int] = range(1, generations + 1)
    stopwatch.start()
    with contextlib.ExitStack() as stack:
        stack.enter_context(tracer(variant, folder))
        if variant == GUARDED:
            guard = LeakGuard(out=folder / "run.jsonl", clock=time.process_time)
            rounds = stack.enter_context(guard).generations(rounds)
        for generation in rounds:
            stopwatch.begin(generation)
            _replace(orders, generation)
            _add_up(orders)
    return stopwatch.stop(folder / "run.jsonl")


@phase("replace")
def _replace(orders: list[Order], generation: int) -> None:
    for place in range(generation % 20, _ORDERS, _ORDERS // _REPLACED):
        orders[place] = Order(place + generation)


@phase("add_up")
def _add_up(orders: list[Order]) -> int:
    return sum(order.amounts[0] for _ in range(_PASSES) for order in orders)
