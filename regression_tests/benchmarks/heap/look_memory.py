"""What memory a look takes in the copy of the process: its own, and pages that it unshares.

    python regression_tests/benchmarks/heap/look_memory.py [--nodes 300000]

Each shape of heap is looked at in a process of its own. The highest ``Private_Dirty`` of the copy
counts, seen every three milliseconds.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from leakguard.capture import heap
from leakguard.capture.heap.process_copy import at_work

_PAUSE = 0.003


class Plain:
    def __init__(self) -> None:
        self.number = 1


class Linked:
    def __init__(self, before: Linked | None) -> None:
        self.before = None if before is None else weakref.ref(before)
        self.after: Linked | None = None


def linked(nodes: int) -> Linked:
    """Return the first of nodes that hold the next one, and the one before weakly."""
    first = last = Linked(None)
    for _ in range(nodes - 1):
        last.after = Linked(last)
        last = last.after
    return first


#: How many objects a node is, and what makes a heap of so many nodes.
SHAPES: dict[str, tuple[int, Callable[[int], object]]] = {
    "(number, text) in a list": (3, lambda nodes: [(n, str(n)) for n in range(nodes)]),
    "[number] in a list": (2, lambda nodes: [[n] for n in range(nodes)]),
    "instances in a list": (1, lambda nodes: [Plain() for _ in range(nodes)]),
    "nodes linked forth, and weakly back": (2, linked),
}


class Sampler(threading.Thread):
    """Notes the most that copies of this process have for themselves."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0

    def run(self) -> None:
        while True:
            for number in tuple(at_work):
                with contextlib.suppress(OSError, IndexError, ValueError):
                    told = Path(f"/proc/{number}/smaps_rollup").read_text()
                    mine = int(told.split("Private_Dirty:")[1].split()[0]) * 1024
                    self.most = max(self.most, mine)
            time.sleep(_PAUSE)


def measured(shape: str, nodes: int) -> Iterator[str]:
    """Yield the cells of a row: bytes for each object, of a count and of a look at holders."""
    objects, made = SHAPES[shape]
    kept = made(nodes)
    sampler = Sampler()
    sampler.start()
    for look in (heap.census, heap.inspect):
        look()
        sampler.most = 0
        look()
        yield f"{sampler.most / nodes / objects:.0f}"
    del kept


def main() -> None:
    """Print the table, or one row of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=300_000)
    parser.add_argument("--shape", choices=SHAPES, help="only this one, as a row")
    given = parser.parse_args()
    if given.shape is not None:
        print(
            f"| {given.nodes:,} {given.shape} | {' | '.join(measured(given.shape, given.nodes))} |"
        )
        return
    print(
        "| heap | count, bytes an object | holders, bytes an object |\n|---|---:|---:|", flush=True
    )
    for shape in SHAPES:
        subprocess.run(
            [sys.executable, __file__, "--nodes", str(given.nodes), "--shape", shape], check=True
        )


if __name__ == "__main__":
    main()
