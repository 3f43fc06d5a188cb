"""Play one side of a pair in a process of its own, under the guard or with plain numbers only."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from regression_tests.benchmarks.leakbench.program import work
from regression_tests.benchmarks.packages import pairs
from regression_tests.benchmarks.packages.pair import PAIRS, Pair

assert pairs

GENERATIONS = 60
WORK_MS = 50  # a generation's own work, objects that die at once


def guarded(pair: Pair, out: Path) -> None:
    """Play the pair under the guard as it comes."""
    from leakguard import LeakGuard

    call = pair.make()
    with LeakGuard(out=out) as guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("work"):
                work(WORK_MS)
            with guard.phase("call"):
                for _ in range(pair.calls):
                    call()


def plain(pair: Pair, out: Path) -> None:
    """Play the pair alone and write what each generation leaves, as JSON."""
    call = pair.make()
    rows = []
    for _ in range(GENERATIONS):
        for _ in range(pair.calls):
            call()
        rows.append(dict(numbers()))
    out.write_text(json.dumps(rows), encoding="utf-8")


def numbers() -> Iterator[tuple[str, int]]:
    """Yield what the process has after a collection: bytes, blocks, objects and handles."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    yield "rss", pages * os.sysconf("SC_PAGE_SIZE")
    yield "malloc", _malloc_in_use()
    yield "blocks", sys.getallocatedblocks()
    yield "objects", len(gc.get_objects())
    yield "threads", threading.active_count()
    yield "files", len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough


class _Mallinfo(ctypes.Structure):
    """``struct mallinfo2`` of glibc: ten numbers of machine size, in the order of its manual."""

    _fields_ = [(f"n{i}", ctypes.c_size_t) for i in range(10)]


def _malloc_in_use() -> int:
    """Return the bytes in use: small blocks (uordblks, the eighth) and mapped ones (hblkhd)."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Mallinfo
    info = mallinfo2()
    return int(info.n7 + info.n4)


def main(mode: str, name: str, out: str) -> None:
    """Play the pair of that name, ``guarded`` or ``plain``."""
    {"guarded": guarded, "plain": plain}[mode](PAIRS[name], Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # what a package left running does not hold it up
