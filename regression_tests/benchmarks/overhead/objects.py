"""A loop over three million objects, watched, traced or left alone, with its times taken."""

from __future__ import annotations

import contextlib
import time
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
    run = folder / "run.jsonl"
    with tracer(variant, folder):
        orders = [Order(number) for number in range(_ORDERS)]
        stopwatch.start()
        guard = LeakGuard(out=run, clock=time.process_time) if variant == GUARDED else None
        with guard or contextlib.nullcontext():
            rounds = range(1, generations + 1)
            for generation in guard.generations(rounds) if guard else rounds:
                stopwatch.begin(generation)
                _replace(orders, generation)
                _add_up(orders)
        return stopwatch.stop(run)


@phase("replace")
def _replace(orders: list[Order], generation: int) -> None:
    for place in range(generation % 20, _ORDERS, _ORDERS // _REPLACED):
        orders[place] = Order(place + generation)


@phase("add_up")
def _add_up(orders: list[Order]) -> int:
    return sum(order.amounts[0] for _ in range(_PASSES) for order in orders)
