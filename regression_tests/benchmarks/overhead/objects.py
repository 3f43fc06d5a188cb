"""Loops over many objects, watched, traced or left alone, with their times taken."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from leakguard import LeakGuard, phase
from regression_tests.benchmarks.overhead.stopwatch import Measured, Stopwatch
from regression_tests.benchmarks.overhead.variants import WATCHED, tracer

_EVERY = 20  # one order in so many is replaced in a generation


class Trade(NamedTuple):
    """How many orders of two objects there are, and how often a generation adds them up."""

    orders: int
    passes: int


#: Three million objects, and generations of 4 s; a hundred thousand, and generations of 50 ms.
TRADES = {"objects": Trade(1_500_000, 80), "short": Trade(50_000, 40)}


class Order:
    """One object, and one more for its amounts."""

    __slots__ = ("amounts", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.amounts = [number, number + 1]


def trade(
    variant: str, size: str, generations: int, folder: Path, stopwatch: Stopwatch
) -> Measured:
    """Replace some orders and add all up, in each generation."""
    run, (count, passes) = folder / "run.jsonl", TRADES[size]
    with tracer(variant, folder):
        orders = [Order(number) for number in range(count)]
        stopwatch.start()
        guard = LeakGuard(out=run) if variant in WATCHED else None
        with guard or contextlib.nullcontext():
            rounds = range(1, generations + 1)
            for generation in guard.generations(rounds) if guard else rounds:
                stopwatch.begin(generation)
                _replace(orders, generation)
                _add_up(orders, passes)
        return stopwatch.stop(run)


@phase("replace")
def _replace(orders: list[Order], generation: int) -> None:
    for place in range(generation % _EVERY, len(orders), _EVERY):
        orders[place] = Order(place + generation)


@phase("add_up")
def _add_up(orders: list[Order], passes: int) -> int:
    return sum(order.amounts[0] for _ in range(passes) for order in orders)
