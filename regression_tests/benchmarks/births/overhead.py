"""What the record of births and other tools cost a loop: CPU time with them by CPU time without.

Forked children of one warm process play a loop in turn, without and with. Two ratios are told: of
the fastest, and of neighbours, the median with its quartiles. What disturbs a child makes it slower
and never faster, so of many the fastest shows the price; neighbours show what the machine did.

::

    python -m regression_tests.benchmarks.births.overhead [--pairs N] [--only LOOP] [--way WAY ...]

ddtrace is played if it can be imported. Scalene is not among them: it starts the program itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch

from leakguard.capture.births import BirthRecord, windows
from leakguard.capture.births.birth_record import _births
from regression_tests.benchmarks.births import loops

_SECONDS = 0.3
# CPU seconds before the timed part: until the interval has found the rate of the loop, or until a
# run takes as many samples as in the rest of it. A child without anything has its caches sooner.
_WARM, WARM_LATER, _WARM_ALONE = 0.6, 22.0, 0.2
# Rounds of the timed part.
_ROUNDS = 20

#: Starts a tool in a child; returns what is called where a round begins.
Way = Callable[[], Callable[[int], None]]


def of_later(most_share: float = 0.01) -> BirthRecord:
    """Return a record whose allowance of any run is used up: small blocks in a share of rounds."""
    windows._FREE_SECONDS = 0.0
    return BirthRecord(most_share=most_share)


def _recorded(make: Callable[[], BirthRecord]) -> Way:
    def start() -> Callable[[int], None]:
        record = make()
        record.start()
        assert record.problem is None, record.problem

        def begin(number: int) -> None:
            record.check()
            record.mark(number, "loop")

        return begin

    return start


def _nothing(number: int) -> None:
    """Leave the loop alone where a round begins."""


def _tracemalloc() -> Callable[[int], None]:
    import tracemalloc

    tracemalloc.start()
    return _nothing


def _memray() -> Callable[[int], None]:
    import memray

    memray.Tracker(Path(tempfile.mkdtemp(), "allocations.bin")).__enter__()
    return _nothing


def _ddtrace() -> Callable[[int], None]:
    from ddtrace.profiling.collector import memalloc

    memalloc.MemoryCollector().start()
    return _nothing


LATER, NOTHING = "births, as a guard goes on", "nothing"
WAYS: dict[str, Way] = {
    "births, Python only, one in 512 kB": _recorded(
        lambda: BirthRecord(native=False, interval=524_288)
    ),
    "births, all, one in 512 kB": _recorded(lambda: BirthRecord(interval=524_288)),
    "births, as a guard begins": _recorded(BirthRecord),
    LATER: _recorded(of_later),
    NOTHING: lambda: _nothing,
    "tracemalloc, 1 frame": _tracemalloc,
    "memray": _memray,
    "ddtrace": _ddtrace,
}


def _played(loop: loops.Loop, times: int, way: Way, warm: float) -> list[float]:
    """Return CPU seconds of a loop in a child, and the blocks and samples of the record."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            begin, a_round = way(), max(times // _ROUNDS, 1)
            end, number = time.process_time() + warm, 0
            while time.process_time() < end:
                if number % a_round == 0:
                    begin(number)
                loop()
                number += 1
            before = _births.figures()[2]
            began = time.process_time()
            for number in range(times):
                if number % a_round == 0:
                    begin(number)
                loop()
            took = time.process_time() - began
            after = _births.figures()[2]
            blocks = sum(b[3] - a[3] for a, b in zip(before, after, strict=True))
            samples = sum(b[1] - a[1] for a, b in zip(before, after, strict=True))
            os.write(writer, json.dumps([took, blocks, samples]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answer:
        told = json.loads(answer.read())
    os.waitpid(pid, 0)
    return told


def measured(loop: loops.Loop, pairs: int, way: str) -> list[float]:
    """Return the ratio of the fastest, quartiles of neighbours, blocks and samples a second."""
    loop()
    began, times = time.process_time(), 0
    while time.process_time() < began + _SECONDS:
        loop()
        times += 1
    warm = {LATER: WARM_LATER, NOTHING: _WARM_ALONE}.get(way, _WARM)
    alone, beside, blocks, samples = [], [], [], []
    for _ in range(pairs):
        alone.append(_played(loop, times, WAYS[NOTHING], _WARM_ALONE)[0])
        took, born, taken = _played(loop, times, WAYS[way], warm)
        beside.append(took)
        blocks.append(born / alone[-1])
        samples.append(taken / alone[-1])
    neighbours = [with_ / without for with_, without in zip(beside, alone, strict=True)]
    of_fastest = min(beside) / min(alone)
    means = statistics.median(blocks), statistics.median(samples)
    return [of_fastest, *statistics.quantiles(neighbours), *means]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", default="", help="loops with this in their name")
    parser.add_argument("--way", action="append", choices=WAYS)
    asked = parser.parse_args()
    ways = [way for way in asked.way or WAYS if way != "ddtrace" or find_spec("ddtrace")]
    torch.set_num_threads(1)
    print(f"CPython {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}, {asked.pairs} pairs\n")
    print("| loop | with | CPU, fastest | neighbours | M blocks a second | samples a second |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as tempfile.tempdir:
        for name, make in loops.named():
            if asked.only not in name:
                continue
            loop = make()
            for way in ways:
                fastest, low, middle, high, blocks, samples = measured(loop, asked.pairs, way)
                cells = f"{fastest:.3f} | {middle:.3f} ({low:.3f} to {high:.3f})"
                recorded = f"{blocks / 1e6:.2f} | {samples:,.0f}" if "births" in way else " | "
                print(f"| {name} | {way} | {cells} | {recorded} |", flush=True)


if __name__ == "__main__":
    main()
