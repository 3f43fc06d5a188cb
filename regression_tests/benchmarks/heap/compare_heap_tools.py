"""Times the heap engine beside objgraph, pympler and guppy3 on one heap; prints a table.

Every tool runs in the same process on the same objects, in turns, after a run to warm up. Ratios
are what to read: seconds depend on the machine. CPU seconds are printed, because other work on the
machine does not count in them.

    python regression_tests/benchmarks/heap/compare_heap_tools.py --objects 0 300000 1000000 3000000
"""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from leakguard.capture.heap import graph, walk
from leakguard.capture.heap.census import take_census
from leakguard.capture.heap.growth import PathMemory
from leakguard.capture.heap.inspection import take_inspection

try:
    from leakguard.capture.heap import compiled
except ImportError:
    compiled = None

Tool = tuple[str, Callable[[], object]]
PURE_LIMIT = 1_000_000


class Transition:
    """Four objects: itself, its text, its list, its number."""

    def __init__(self, number: int) -> None:
        self.name = f"transition {number}"
        self.values = [number * 1.5]


def populate(objects: int) -> list[Transition]:
    """Return instances that make about this many objects."""
    return [Transition(number) for number in range(objects // 4)]


def censuses(objects: int) -> list[Tool]:
    """Return the tools that count the whole heap by type."""
    tools: list[Tool] = []
    if compiled is not None:
        tally = compiled.tally
        tools.append(("leakguard, compiled", lambda: take_census(tally, "", {}, 50_000_000)))
    if objects <= PURE_LIMIT:
        tools.append(("leakguard, pure", lambda: take_census(walk.tally, "", {}, 50_000_000)))
    return tools + _others(objects)


def _others(objects: int) -> list[Tool]:
    tools: list[Tool] = []
    if objgraph := _module("objgraph"):
        tools.append(("objgraph.typestats (no leaves, no bytes)", objgraph.typestats))
    if guppy := _module("guppy"):
        heap = guppy.hpy()
        # heap() alone is lazy: it counts nothing by type
        tools.append(("guppy3 heap() by type", lambda: list(heap.heap().bytype.stat.get_rows())))
    muppy, summary = _module("pympler.muppy"), _module("pympler.summary")
    if muppy and summary and objects <= PURE_LIMIT:
        tools.append(("pympler muppy+summary", lambda: summary.summarize(muppy.get_objects())))
    return tools


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def inspections(objects: int, keeper: list[Transition]) -> list[Tool]:
    """Return the tools that say who holds what."""
    tools: list[Tool] = []
    if compiled is not None:
        make = compiled.CompiledGraph
        tools.append(
            (
                "leakguard, compiled: all suspects",
                lambda: take_inspection(make, "", PathMemory(), (), 50_000_000, 10),
            )
        )
    if objects <= PURE_LIMIT:
        tools.append(
            (
                "leakguard, pure: all suspects",
                lambda: take_inspection(graph.Graph, "", PathMemory(), (), 50_000_000, 10),
            )
        )
    if (objgraph := _module("objgraph")) and keeper:
        target = keeper[len(keeper) // 2]
        tools.append(
            (
                "objgraph: one path",
                lambda: objgraph.find_backref_chain(target, objgraph.is_proper_module),
            )
        )
    return tools


def measure(tools: list[Tool], rounds: int) -> dict[str, tuple[float, int]]:
    """Return the median CPU seconds of each tool, and how many tracked objects it left behind."""
    seconds: dict[str, list[float]] = {name: [] for name, _ in tools}
    left: dict[str, int] = {}
    for round_number in range(rounds + 1):
        for name, run in tools:
            before = len(gc.get_objects())
            start = time.process_time()
            run()
            spent = time.process_time() - start
            if round_number:
                seconds[name].append(spent)
            left[name] = left.get(name, 0) + len(gc.get_objects()) - before
    return {name: (statistics.median(values), left[name]) for name, values in seconds.items()}


def report(title: str, results: dict[str, tuple[float, int]]) -> None:
    """Print one table; ratios are against its first line."""
    first = next(iter(results.values()))[0]
    print(f"\n{title}\n{'tool':44}{'CPU s':>9}{'ratio':>8}{'left behind':>13}")
    for name, (seconds, left) in results.items():
        print(f"{name:44}{seconds:9.3f}{seconds / first:8.1f}{left:13,}")


def extra_memory(objects: int) -> None:
    """Print what one deep look adds to the peak of a fresh process."""
    # VmHWM, not ru_maxrss: the latter starts from the parent's peak
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import compare_heap_tools as b; keeper = b.populate(int(sys.argv[2]))\n"
        "from leakguard.capture import heap\n"
        "before = b.peak(); found = heap.inspect()\n"
        "print(heap.ENGINE, b.peak() - before, found.objects)"
    )
    here = __file__.rpartition("/")[0] or "."
    out = subprocess.run(
        [sys.executable, "-c", code, here, str(objects)], capture_output=True, text=True, check=True
    )
    engine, size, walked = out.stdout.split()
    each = int(size) / int(walked)
    print(f"extra memory of one deep look at {objects:,} objects more ({engine}): ", end="")
    print(f"{int(size) / 1e6:.0f} MB, {each:.0f} bytes for each of {int(walked):,} walked")


def peak() -> int:
    """Return the most memory this process ever had resident, in bytes (Linux)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main() -> None:
    """Populate, measure and print, one size after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, nargs="+", default=[0, 300_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare", action="store_true", help="without torch in the process")
    arguments = parser.parse_args()
    if not arguments.bare:
        _module("torch")
    for objects in arguments.objects:
        keeper = populate(objects)
        gc.collect()
        report(f"census, {objects:,} objects more", measure(censuses(objects), arguments.rounds))
        report(f"who holds it, {objects:,} objects more", measure(inspections(objects, keeper), 1))
        extra_memory(objects)
        del keeper


if __name__ == "__main__":
    main()
