"""What the record of births costs a loop that goes on for long, to a percent or better.

Two children of one warm process live side by side on one core, one with the record and one without,
and play short turns of the same loop, one after the other: what the machine does meets both. A
couple gives the median ratio of neighbours. Where its blocks lie is an accident of each child, so
several couples are made; their mean has a standard error. Nothing beside nothing shows what is left
of chance.

::

    python -m regression_tests.benchmarks.births.turns [--couples N] [--turns N] [--only LOOP]
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from regression_tests.benchmarks.births import loops
from regression_tests.benchmarks.births.overhead import LATER, NOTHING, WARM_LATER, WAYS

_SECONDS = 0.1
# CPU seconds of a child before its first turn: a loop alone has its caches after less.
_WARM = {LATER: WARM_LATER, NOTHING: 1.0}
_ROUNDS = 7


T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True)
class Child:
    """A process that plays a turn each time it is asked, and says how much CPU time it took."""

    pid: int
    ask: int
    answer: int

    def turn(self) -> float:
        os.write(self.ask, b"t")
        (took,) = struct.unpack("d", os.read(self.answer, 8))
        return float(took)

    def end(self) -> None:
        os.write(self.ask, b"e")  # the other child may have the pipe open, too
        os.waitpid(self.pid, 0)


def child(loop: loops.Loop, times: int, way: str) -> Child:
    """Fork a child that has played for its share of ``_WARM`` when its first turn comes."""
    (asked, ask), (answer, told) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid:
        os.close(asked)
        os.close(told)
        return Child(pid, ask, answer)
    try:
        os.close(ask)
        begin, number, each = WAYS[way](), 0, max(times // _ROUNDS, 1)
        end = time.process_time() + _WARM[way]
        while time.process_time() < end:
            number = _played(loop, number, each, each, begin)
        while os.read(asked, 1) == b"t":
            began = time.process_time()
            number = _played(loop, number, times, each, begin)
            os.write(told, struct.pack("d", time.process_time() - began))
    finally:
        os._exit(0)


def _played(
    loop: loops.Loop, number: int, times: int, each: int, begin: Callable[[int], None]
) -> int:
    for turn in range(times):
        if turn % each == 0:
            begin(number)
            number += 1
        loop()
    return number


class Turning(Protocol[T]):
    """What plays a turn each time it is asked, and returns what that took."""

    def turn(self) -> T: ...


def neighbours(alone: Turning[T], beside: Turning[T], turns: int) -> Iterator[tuple[T, T]]:
    """Yield what neighbouring turns took, beside and alone; each begins every other time."""
    for number in range(turns):
        first, second = (alone, beside) if number % 2 else (beside, alone)
        took = {first: first.turn(), second: second.turn()}
        yield took[beside], took[alone]


def couple(loop: loops.Loop, times: int, way: str, turns: int) -> float:
    """Return the median ratio of the CPU time of neighbours, with the way and without."""
    alone, beside = child(loop, times, NOTHING), child(loop, times, way)
    try:
        return statistics.median(one / other for one, other in neighbours(alone, beside, turns))
    finally:
        alone.end()
        beside.end()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--couples", type=int, default=8)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--only", default="", help="loops with this in their name")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(
        f"CPython {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}; "
        f"{asked.couples} couples\n"
    )
    print("| loop | with | mean of couples | standard error | least and largest couple |")
    print("|---|---|---:|---:|---|")
    for name, make in loops.named():
        if asked.only not in name:
            continue
        loop, times = make(), 0
        loop()
        end = time.process_time() + _SECONDS
        while time.process_time() < end:
            loop()
            times += 1
        for way in (NOTHING, LATER):
            found = [couple(loop, times, way, asked.turns) for _ in range(asked.couples)]
            error = statistics.stdev(found) / math.sqrt(len(found))
            spread = f"{min(found):.3f} to {max(found):.3f}"
            print(
                f"| {name} | {way} | {statistics.fmean(found):.4f} | {error:.4f} | {spread} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
