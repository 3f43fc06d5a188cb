"""Pairs of loops that share a core: one watched, one alone."""

from __future__ import annotations

import json
import os
import socket
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, CalledProcessError, Popen

from regression_tests.benchmarks.overhead.stopwatch import Measured
from regression_tests.benchmarks.overhead.variants import ALONE, PURE


@dataclass
class Pairs:
    """Loops, watched and alone, each beside the other of its pair."""

    watched: list[Measured] = field(default_factory=list)
    alone: list[Measured] = field(default_factory=list)

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


@dataclass(frozen=True)
class Plan:
    """How the loops of a pair are run, the same for both."""

    size: str
    generations: int
    give_back: bool


def measure(variant: str, plan: Plan, rounds: int) -> Iterator[Pairs]:
    """Run the variant beside the loop alone on two cores at a time; yield all pairs so far.

    On one core the watched one is started first, on the other the one alone.
    """
    cores = sorted(os.sched_getaffinity(0))[:2]
    pairs = Pairs()
    for _ in range(rounds):
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(_run_pair, (variant, ALONE), cores[0], plan)
            other = pool.submit(_run_pair, (ALONE, variant), cores[-1], plan)
        (watched, alone), (alone_too, watched_too) = one.result(), other.result()
        pairs.watched += watched, watched_too
        pairs.alone += alone, alone_too
        yield pairs


def _run_pair(order: Sequence[str], core: int, plan: Plan) -> list[Measured]:
    """Run two variants in fresh processes that share a core, generation by generation."""
    ends = socket.socketpair()
    with tempfile.TemporaryDirectory() as folder:
        begun = []
        for variant, end in zip(order, ends, strict=True):
            own = Path(tempfile.mkdtemp(dir=folder))
            process = _begin(variant, core, plan, own, end.fileno(), behind_when_odd=not begun)
            begun.append(process)
        for end in ends:  # so that the end of one is told to the other
            end.close()
        return [_told(process) for process in begun]


def _begin(
    variant: str, core: int, plan: Plan, folder: Path, partner: int, behind_when_odd: bool
) -> Popen[bytes]:
    command = [
        *("taskset", "--cpu-list", str(core)),
        *(sys.executable, "-m", "regression_tests.benchmarks.overhead.loop", variant),
        *("--size", plan.size, "--generations", str(plan.generations)),
        *("--folder", str(folder), "--partner", str(partner)),
        *(["--give-back"] if plan.give_back else []),
        *(["--behind-when-odd"] if behind_when_odd else []),
    ]
    # An installed package is compiled; where no bytecode is kept, each import would compile.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    environment["LEAKGUARD_PURE"] = "1" if variant == PURE else ""
    return Popen(command, env=environment, stdout=PIPE, pass_fds=(partner,))


def _told(process: Popen[bytes]) -> Measured:
    output, _ = process.communicate()
    if process.returncode:
        raise CalledProcessError(process.returncode, process.args)
    return Measured(**json.loads(output.splitlines()[-1]))
