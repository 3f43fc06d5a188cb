"""A loop that keeps nothing, watched with everything on or left alone; prints what lives in it."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import logging
import os
import random
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leakguard import LeakGuard
from leakguard.capture.allocator import allocator_memory, pool_memory

KEPT = 500  # transitions in the loop's buffer: full after 50 generations


class Environment:
    """What the loop makes a few of in every generation, and watches."""

    def __init__(self, chance: random.Random) -> None:
        self.prices = [chance.random() for _ in range(100)]


class Program:
    """The loop's own state; after the first generations it has its full size."""

    def __init__(self) -> None:
        self.chance = random.Random(0)
        self.buffer: deque[tuple[float, ...]] = deque(maxlen=KEPT)
        self.champion = Environment(self.chance)

    def evaluate(self) -> list[Environment]:
        """Make a population and remember what it saw; some rounds need more than others."""
        population = [Environment(self.chance) for _ in range(self.chance.randint(2, 12))]
        self.buffer.extend(tuple(member.prices[:8]) for member in population)
        return population

    def evolve(self, population: list[Environment]) -> None:
        """Keep the best one only."""
        self.champion = max(population, key=lambda member: member.prices[0])


def watched(guard: LeakGuard, program: Program, generations: int) -> Iterator[int]:
    """Play the loop under the guard; yields behind each generation."""
    guard.gauge("buffer", lambda: len(program.buffer), capacity=KEPT)
    with guard:
        guard.snapshot("Program made", baseline=True)
        for number in guard.generations(range(1, generations + 1)):
            with guard.phase("evaluate"):
                population = program.evaluate()
            with guard.phase("evolve"), guard.phase(f"member {number % 97}"):
                program.evolve(population)
                losers = [each for each in population if each is not program.champion]
                guard.expect_freed(losers, "replaced by evolve")
                population = losers = []
            if number % 1000 == 0:
                guard.snapshot(f"Thousand {number // 1000}")
            yield number


def alone(program: Program, generations: int) -> Iterator[int]:
    """Play the same loop without a guard."""
    for number in range(1, generations + 1):
        program.evolve(program.evaluate())
        yield number


def live_bytes() -> int:
    """Return what both allocators have in use, after a collection."""
    gc.collect()
    return int(allocator_memory()["heap_in_use"] + pool_memory()["python_in_use"])


def guard_with_everything_on(folder: Path, most: str) -> LeakGuard:
    """Return the guard that the soak is about."""
    logger = logging.getLogger("soak")
    logger.propagate = False
    logger.addHandler(logging.FileHandler(os.devnull))
    logger.setLevel(logging.INFO)
    return LeakGuard(
        watch={Environment: (0, 20)},
        out=folder / "run.jsonl",
        log=logger,
        log_every=50,
        on_signal="SIGUSR1",
        on_leak=lambda report: print(report.headline, file=sys.stderr),
        max_file_size=most,
    )


def main() -> None:
    """Play the loop and print one JSON line for each sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=500, help="generations between samples")
    parser.add_argument("--folder", type=Path, help="watch, and write the run here")
    parser.add_argument("--max-file-size", default="8 MB")
    given = parser.parse_args()
    program = Program()
    guard = given.folder and guard_with_everything_on(given.folder, given.max_file_size)
    rounds = (
        watched(guard, program, given.generations) if guard else alone(program, given.generations)
    )
    with contextlib.closing(rounds):
        for number in rounds:
            if number % given.every == 0 or number in (1, 100):
                _tell(number, given.folder)


def _tell(number: int, folder: Path | None) -> None:
    sample: dict[str, Any] = {"generation": number, "live": live_bytes()}
    if folder is not None:
        sample["file"] = (folder / "run.jsonl").stat().st_size
    print(json.dumps(sample), flush=True)


if __name__ == "__main__":
    main()
