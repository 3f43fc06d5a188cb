"""What a look costs in the process and in a copy of it, by objects and by memory in small pages.

Each row is a process of its own: so many dictionaries with a list each, so much memory in small
pages. It is looked at in itself, then in a copy while it goes on: idle, and writing to every one of
its objects. CPU is that of the process, stall the longest time that its loop stood still (on a busy
machine: with what others took), extra memory the most private pages of the copy. With one core the
copy and the process share it. A row that the machine has no memory for is left out, and said so.

    python -m regression_tests.benchmarks.heap.look_in_copy [--objects 0.2 1 3]
        [--gigabytes 0.3 3 10] [--cores 1 2]
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

from leakguard.capture import heap
from leakguard.capture.headroom import free_memory
from leakguard.capture.heap.copied_look import CopiedLook, decoded, encoded
from leakguard.capture.heap.process_copy import ProcessCopy

_A_DICT = 3  # objects: a dictionary, its list, and a number in it
_PRIVATE = re.compile(rb"^Private_Dirty:\s+(\d+) kB", re.MULTILINE)
_PAGE = 4096
# Bytes that a million objects take with the tables of a look, and what is left to others.
_AN_OBJECT, _SPARE = 0.5e9, 2e9
_COLUMNS = ("objects", "GB", "cores", "look", "here CPU", "here stall", "copy: CPU here", "stall",
            "CPU there", "extra MB", "writing costs more", "faults", "a fault")  # fmt: skip


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", nargs="*", type=float, default=[0.2, 1, 3], help="millions")
    parser.add_argument("--gigabytes", nargs="*", type=float, default=[0.3, 3, 10])
    parser.add_argument("--cores", nargs="*", type=int, default=[2])
    parser.add_argument("--row", nargs=3, type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        print(json.dumps(_rows(*arguments.row)))
        return
    print("| " + " | ".join(_COLUMNS) + " |\n" + "|---" * len(_COLUMNS) + "|")
    wanted = product(arguments.objects, arguments.gigabytes, arguments.cores)
    for millions, gigabytes, cores in wanted:
        needed = gigabytes * 1e9 + millions * _AN_OBJECT + _SPARE
        if free_memory() < needed:
            print(f"| {millions:g} M | {gigabytes:g} | {cores} | no room |", flush=True)
            continue
        command = [sys.executable, "-m", __spec__.name, "--row"]
        command += [str(millions), str(gigabytes), str(cores)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        for row in json.loads(done.stdout):
            print("| " + " | ".join(row) + " |", flush=True)


def _rows(millions: float, gigabytes: float, cores: float) -> list[list[str]]:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
    kept = [{"a": [float(i)]} for i in range(int(millions * 1e6 / _A_DICT))]
    ballast = mmap.mmap(-1, int(gigabytes * 1e9), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    ballast.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(ballast), _PAGE):
        ballast[at] = 1
    looks = {"census": _census, "holders": _holders}
    heads = {name: [f"{millions:g} M", f"{gigabytes:g}", f"{cores:g}", name] for name in looks}
    return [heads[name] + _row(look, kept) for name, look in looks.items()]


def _census() -> bytes:
    return encoded(CopiedLook(heap.census()))


def _holders() -> bytes:
    return encoded(CopiedLook(heap.census(), heap.inspect()))


def _row(look: Callable[[], bytes], kept: list[dict]) -> list[str]:
    here_cpu, here_wall = _timed(look)
    quiet, _ = _timed(lambda: _write(kept))
    copied = _copied(look, lambda: time.sleep(0.01))
    written: list[tuple[float, int]] = []

    def write_once() -> None:
        if written:
            time.sleep(0.01)
            return
        before = _faults()
        seconds, _ = _timed(lambda: _write(kept))
        written.append((seconds, _faults() - before))

    _copied(look, write_once)
    more, faults = written[0][0] - quiet, written[0][1]
    return [
        _ms(here_cpu), _ms(here_wall),
        _ms(copied["cpu"]), _ms(copied["stall"]), _ms(copied["there"]),
        f"{copied['extra'] / 1e6:.0f}", _ms(more), f"{faults:,}",
        f"{more / max(faults, 1) * 1e6:.1f} µs",
    ]  # fmt: skip


def _copied(look: Callable[[], bytes], meanwhile: Callable[[], None]) -> dict[str, float]:
    """Look in a copy while the loop does something; return what that cost, in seconds and bytes."""
    before, began = time.thread_time(), time.perf_counter()
    copy = ProcessCopy.begin(look, seconds=600, memory=2_000_000_000)
    cpu, stall = time.thread_time() - before, time.perf_counter() - began
    extra, answer = 0, None
    while answer is None:
        meanwhile()
        extra = max(extra, _private_bytes(copy.number))
        answer = copy.answer()
    taken, _ = _timed(lambda: decoded(answer))
    return {"cpu": cpu + taken, "stall": stall, "there": copy.seconds, "extra": extra}


def _write(kept: list[dict]) -> None:
    for item in kept:
        item["a"][0] = 1.0


def _private_bytes(number: int) -> int:
    try:
        found = _PRIVATE.search(Path(f"/proc/{number}/smaps_rollup").read_bytes())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def _faults() -> int:
    return int(Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[7])


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.thread_time(), time.perf_counter()
    work()
    return time.thread_time() - cpu, time.perf_counter() - wall


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


if __name__ == "__main__":
    main()
