"""Pairs of trainings that share a core: one watched, one alone."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from regression_tests.benchmarks.overhead.training import ALONE, Training


@dataclass
class Pairs:
    """Trainings, watched and alone, each beside the other of its pair."""

    watched: list[Training] = field(default_factory=list)
    alone: list[Training] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """The ratio of the CPU time of each pair."""
        return [
            sum(watched.cpu_seconds) / sum(alone.cpu_seconds)
            for watched, alone in zip(self.watched, self.alone, strict=True)
        ]

    @property
    def ratio(self) -> str:
        """The mean ratio, with the standard error that its scatter gives."""
        ratios = self.ratios
        if len(ratios) == 1:
            return f"{ratios[0]:.3f}"
        error = statistics.stdev(ratios) / len(ratios) ** 0.5
        return f"{statistics.mean(ratios):.3f} ± {error:.3f}"

    def ratio_of(self, generations: Sequence[Sequence[int]]) -> float:
        """Return the ratio of the CPU time of some generations, from 1, of each pair."""
        watched, alone = (
            sum(
                one.cpu_seconds[number - 1]
                for one, chosen in zip(side, generations, strict=True)
                for number in chosen
            )
            for side in (self.watched, self.alone)
        )
        return watched / alone


def measure(
    variant: str, size: str, generations: int, rounds: int, give_back: bool
) -> Iterator[Pairs]:
    """Train the variant beside the trainer alone on two cores at a time; yield all pairs so far.

    On one core the watched one is started first, on the other the one alone.
    """
    cores = sorted(os.sched_getaffinity(0))[:2]
    order = [(variant, cores[0]), (ALONE, cores[0]), (ALONE, cores[-1]), (variant, cores[-1])]
    pairs = Pairs()
    for _ in range(rounds):
        with ThreadPoolExecutor(len(order)) as pool:
            begun = [
                pool.submit(_train_apart, one, size, generations, core, give_back)
                for one, core in order
            ]
        watched, alone, alone_too, watched_too = (one.result() for one in begun)
        pairs.watched += watched, watched_too
        pairs.alone += alone, alone_too
        yield pairs


def _train_apart(variant: str, size: str, generations: int, core: int, give_back: bool) -> Training:
    """Train in a fresh process that is bound to a core."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *("taskset", "--cpu-list", str(core)),
            *(sys.executable, "-m", "regression_tests.benchmarks.overhead.training", variant),
            *("--size", size, "--generations", str(generations), "--folder", folder),
            *(["--give-back"] if give_back else []),
        ]
        # An installed package is compiled; where no bytecode is kept, each import would compile.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        return Training(**json.loads(done.stdout.splitlines()[-1]))
