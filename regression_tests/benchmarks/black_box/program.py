"""One program near a limit: ``program.py KIND PACE RUN_FILE BOX HEALTHY MOST``.

It keeps what KIND says, in many generations (``slow``), fast (``fast``) or within one (``one``). A
healthy one stops to keep more once it takes MOST bytes, and ends.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

from leakguard import LeakGuard

KIND, PACE, OUT, BOX, HEALTHY, MOST = sys.argv[1:7]
STEP = 1_000_000  # bytes that one step keeps, about

if KIND in ("arrays", "views"):
    import numpy as np
if KIND == "tensors":
    import torch


class Sample:
    """A record with a few attributes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"sample {number}"
        self.values = [float(number), number + 0.5]


class Trainer:
    """Holds what its run keeps."""

    def __init__(self) -> None:
        self.rows: list[object] = []


history: list[object] = []
cache: dict[object, object] = {}
trainer = Trainer()
population = [Trainer() for _ in range(4)]


def buffers() -> None:
    history.append(bytearray(b"x" * STEP))


def arrays() -> None:
    trainer.rows.append(np.ones(STEP // 8))


def cached() -> None:
    for _ in range(STEP // 2_000):
        cache[len(cache)] = f"{len(cache):>1900}"


def tensors() -> None:
    history.append(torch.ones(STEP // 4))


def objects() -> None:
    history.extend(Sample(number) for number in range(STEP // 450))


def views() -> None:
    for one in population:
        one.rows.append({"rewards": np.ones(STEP // 32), "number": len(one.rows)})


STEPS: dict[str, Callable[[], None]] = {
    "buffers": buffers, "arrays": arrays, "dict": cached, "tensors": tensors, "objects": objects,
    "views": views,
}  # fmt: skip


def resident() -> int:
    """Return the bytes of this process in RAM, without pages of files."""
    with open("/proc/self/statm", "rb") as file:
        pages = [int(word) for word in file.read().split()]
    return (pages[1] - pages[2]) * os.sysconf("SC_PAGE_SIZE")


def rounds(guard: LeakGuard) -> Iterator[int]:
    """Yield numbers of steps; a healthy program ends a while after it is full."""
    numbers = range(1, 60) if HEALTHY == "healthy" else range(1, 1_000_000)
    yield from guard.generations(numbers)


def work(steps: int) -> None:
    """Keep so much, unless the program is healthy and full."""
    for _ in range(steps):
        if HEALTHY == "healthy" and resident() > int(MOST):
            time.sleep(0.01)
            return
        STEPS[KIND]()
        if PACE != "fast":
            time.sleep(0.004)


def main() -> None:
    """Run."""
    guard = LeakGuard(out=OUT, report=None, black_box=BOX == "box")
    with guard:
        for number in rounds(guard):
            print(number, flush=True)
            work({"slow": 10, "fast": 40, "one": 1_000_000}[PACE])


if __name__ == "__main__":
    main()
