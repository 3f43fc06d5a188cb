"""What the record of births and a whole guard cost loops that use a GPU.

Two processes play turns of the same loop, one after the other, one with the guard and one without:
what the machine does meets both. The ratios of neighbouring turns have a median a couple. Nothing
beside nothing shows what is left of chance. Time is told beside CPU time, since a loop that waits
for the device hides what the host does.

::

    python -m regression_tests.benchmarks.gpu.price [--couples N] [--turns N] [--device cuda]
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from leakguard import LeakGuard
from regression_tests.benchmarks.births.turns import neighbours

_SECONDS = 0.5
_WARM = 10.0
_ROUNDS = 10
BIRTHS, GUARD, NOTHING = "births, as a guard goes on", "a guard, default settings", "nothing"

#: Plays one step; a round has as many as fit into a tenth of a turn.
Loop = Callable[[], object]


def small_steps(device: str) -> Loop:
    """Return an optimizer's step so small that the host is what takes the time."""
    width = 256
    model = nn.Sequential(*[nn.Linear(width, width), nn.ReLU()] * 3, nn.Linear(width, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> float:
        loss = model(torch.rand(64, width, device=device)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def large_steps(device: str) -> Loop:
    """Return a step whose host waits for the device."""
    width = 4096
    model = nn.Sequential(*[nn.Linear(width, width), nn.ReLU()] * 3).to(device)

    def step() -> float:
        with torch.no_grad():
            return model(torch.rand(8192, width, device=device)).mean().item()

    return step


def allocations(device: str) -> Loop:
    """Return a loop that only takes memory of the caching allocator and gives it back."""

    def step() -> None:
        for _ in range(200):
            torch.empty(1024, device=device)

    return step


LOOPS = {"small steps": small_steps, "large steps": large_steps, "allocations": allocations}


def _rounds(way: str) -> Callable[[], object]:
    """Return what is called where a round begins."""
    if way == GUARD:
        rounds = iter(LeakGuard(report=None).generations(itertools.count(1)))
        return lambda: next(rounds)
    if way == BIRTHS:
        from regression_tests.benchmarks.births.overhead import LATER, WAYS

        begin, numbers = WAYS[LATER](), itertools.count()
        return lambda: begin(next(numbers))
    return lambda: None


def play(loop: Loop, way: str, steps: int) -> None:
    """Play a turn for each line of the input; print its time and its CPU time."""
    begin = _rounds(way)

    def turn() -> None:
        for number in range(steps):
            if number % max(steps // _ROUNDS, 1) == 0:
                begin()
            loop()

    until = time.monotonic() + _WARM
    while time.monotonic() < until:
        turn()
    print("ready", flush=True)
    for _ in sys.stdin:
        began, cpu = time.perf_counter(), time.process_time()
        turn()
        took = [time.perf_counter() - began, time.process_time() - cpu]
        print(json.dumps(took), flush=True)


class Child:
    """A process that plays a turn each time it is asked."""

    def __init__(self, *arguments: str) -> None:
        module = "regression_tests.benchmarks.gpu.price"
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=Path(__file__).parents[3], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def answer(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def turn(self) -> list[float]:
        assert self.process.stdin
        self.process.stdin.write("turn\n")
        self.process.stdin.flush()
        return json.loads(self.answer())

    def end(self) -> None:
        self.process.communicate()


def couple(name: str, way: str, device: str, steps: int, turns: int) -> tuple[float, float]:
    """Return the median ratios of time and of CPU time, with the way and without."""
    common = ["--device", device, "--steps", str(steps), "--only", name, "--play"]
    alone, beside = Child(*common, NOTHING), Child(*common, way)
    alone.answer(), beside.answer()
    took = neighbours(alone, beside, turns)
    ratios = [[a / b for a, b in zip(one, other, strict=True)] for one, other in took]
    alone.end()
    beside.end()
    times, cpu = zip(*ratios, strict=True)
    return statistics.median(times), statistics.median(cpu)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--couples", type=int, default=3)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="loops with this in their name")
    parser.add_argument("--steps", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--play", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.play:
        return play(LOOPS[asked.only](asked.device), asked.play, asked.steps)
    device = torch.cuda.get_device_name() if asked.device == "cuda" else asked.device
    print(f"{device}, torch {torch.__version__}, CPython {sys.version.split()[0]}; "
          f"{asked.couples} couples, {asked.turns} turns of {_SECONDS} s\n")  # fmt: skip
    print("| loop | with | time (least and largest couple) | CPU time |\n|---|---|---|---|")
    for name, make in LOOPS.items():
        if asked.only not in name:
            continue
        loop = make(asked.device)
        for _ in range(3):
            loop()
        steps, until = 0, time.monotonic() + _SECONDS
        while time.monotonic() < until:
            loop()
            steps += 1
        for way in (NOTHING, BIRTHS, GUARD):
            found = [
                couple(name, way, asked.device, steps, asked.turns) for _ in range(asked.couples)
            ]
            cells = [
                f"{statistics.median(one):.3f} ({min(one):.3f} to {max(one):.3f})"
                for one in zip(*found, strict=True)
            ]
            print(f"| {name} | {way} | {cells[0]} | {cells[1]} |", flush=True)
    return None


if __name__ == "__main__":
    main()
