"""Healthy: what comes and goes with a period of many generations."""

from __future__ import annotations

from typing import Any

from regression_tests.benchmarks.leakbench.program import healthy, pace


class Row:
    def __init__(self, number: int) -> None:
        self.number = number
        self.values = bytes(1_500)


class Table:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.expiring: dict[int, tuple[int, Row]] = {}


@healthy
def batch_list_flushed_every_fifteenth(guard: Any) -> None:
    table = Table()
    for generation in guard.generations(range(1, 61)):
        with guard.phase("collect"):
            table.rows.extend(Row(i) for i in range(30))
            pace(40)
        with guard.phase("flush"):
            if generation % 15 == 0:
                table.rows.clear()
            pace(20)


@healthy
def batch_list_flushed_every_fiftieth(guard: Any) -> None:
    table = Table()
    for generation in guard.generations(range(1, 401)):
        with guard.phase("collect"):
            table.rows.extend(Row(i) for i in range(10))
            pace(6)
        with guard.phase("flush"):
            if generation % 50 == 0:
                table.rows.clear()
            pace(4)


def _keep_for(guard: Any, lifetime: int, generations: int) -> None:
    table = Table()
    for generation in guard.generations(range(1, generations + 1)):
        with guard.phase("look_up"):
            for i in range(20):
                table.expiring[generation * 20 + i] = (generation + lifetime, Row(i))
            pace(25)
        with guard.phase("expire"):
            dead = [key for key, (end, _) in table.expiring.items() if end <= generation]
            for key in dead:
                del table.expiring[key]
            pace(15)


@healthy
def entries_live_for_twenty(guard: Any) -> None:
    _keep_for(guard, 20, 60)


@healthy
def entries_live_for_forty(guard: Any) -> None:
    _keep_for(guard, 40, 130)


@healthy
def stats_compacted_every_twenty_fifth(guard: Any) -> None:
    stats: dict[int, dict[str, float]] = {}
    totals: dict[str, float] = {}
    for generation in guard.generations(range(1, 181)):
        with guard.phase("train"):
            stats[generation] = {f"metric {i}": float(generation + i) for i in range(60)}
            pace(15)
        with guard.phase("compact"):
            if generation % 25 == 0:
                for one in stats.values():
                    for name, value in one.items():
                        totals[name] = totals.get(name, 0) + value
                stats.clear()
            pace(8)
