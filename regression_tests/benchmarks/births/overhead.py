"""What the record of births costs a loop: CPU time with it divided by CPU time without.

Forked children of one warm process play a loop in turn, without and with the record; the median of
the ratios of neighbours is told with its quartiles. Ratios only: the machine is busy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable

import torch

from leakguard.capture.births import BirthRecord, windows
from leakguard.capture.births.birth_record import _births

_SECONDS = 0.25
# Until the interval has found the rate of the loop: the samples before are the allowance of any
# run, some 15 ms in all.
_WARM = 0.6


class Node:
    """What a program in objects allocates."""

    def __init__(self, left, right):
        self.left, self.right, self.sizes = left, right, [1.5, 2.5]


def allocations():
    """Allocate and free at once, and nothing else: the most that a record can cost."""
    for number in range(2_000):
        [bytes(40), {}, [number]]


def through_json():
    json.loads(json.dumps(_TABLE))


def objects():
    tree = None
    for _ in range(300):
        tree = Node(tree, (tree, 1))


_TABLE = [{"name": f"entry {n}", "values": [n / 7, n, None, "x" * 20]} for n in range(60)]


def torch_step(width):
    net = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
    )
    steps = torch.optim.Adam(net.parameters())
    batch = torch.ones(64, width)

    def step():
        loss = (net(batch) ** 2).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()

    return step


def of_later(most_share: float = 0.01) -> BirthRecord:
    """Return a record whose allowance of any run is used up: small blocks in a share of rounds."""
    windows._FREE_SECONDS = 0.0
    return BirthRecord(most_share=most_share)


def _played(loop, times, record):
    """Return CPU seconds of a loop in a child, and the blocks and samples of the record."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if record is not None:
                record.start()
                assert record.problem is None, record.problem
            end, number = time.process_time() + _WARM, 0
            while time.process_time() < end:
                if record is not None and number % max(times // 40, 1) == 0:
                    record.check()
                loop()
                number += 1
            before = _births.figures()[2]
            began = time.process_time()
            for number in range(times):
                if record is not None and number % max(times // 40, 1) == 0:
                    record.check()
                    record.mark(number, "loop")
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


def measured(
    loop: Callable[[], object], pairs: int, make: Callable[[], BirthRecord]
) -> list[float]:
    """Return (quartiles of the ratio, blocks and samples a second)."""
    loop()
    began, times = time.process_time(), 0
    while time.process_time() < began + _SECONDS:
        loop()
        times += 1
    ratios, blocks, samples, plain = [], [], [], []
    for _ in range(pairs):
        first, _, _ = _played(loop, times, None)
        took, born, taken = _played(loop, times, make())
        last, _, _ = _played(loop, times, None)
        ratios.append(2 * took / (first + last))
        plain.append(first)
        blocks.append(born / first)
        samples.append(taken / first)
    return [*statistics.quantiles(ratios), statistics.median(blocks), statistics.median(samples)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", default="", help="loops with this in their name")
    given = parser.parse_args()
    pairs = given.pairs
    torch.set_num_threads(1)
    loops = {
        "allocations and nothing else": allocations,
        "json, dumps and loads": through_json,
        "objects": objects,
        "torch, MLP of 64, batch of 64": torch_step(64),
        "torch, MLP of 256, batch of 64": torch_step(256),
    }
    records: dict[str, Callable[[], BirthRecord]] = {
        "Python only, one in 512 kB": lambda: BirthRecord(native=False, interval=524_288),
        "all, one in 512 kB": lambda: BirthRecord(interval=524_288),
        "as a guard begins": BirthRecord,
        "as a guard goes on": of_later,
    }
    print(f"CPython {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}, {pairs} pairs\n")
    print(
        "| loop | record | CPU with / without | quartiles | M blocks a second | samples a second |"
    )
    print("|---|---|---|---|---|---|")
    for name, loop in loops.items():
        if given.only not in name:
            continue
        for kind, make in records.items():
            low, middle, high, blocks, samples = measured(loop, pairs, make)
            cells = f"{middle:.3f} | {low:.3f} to {high:.3f} | {blocks / 1e6:.2f} | {samples:,.0f}"
            print(f"| {name} | {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
