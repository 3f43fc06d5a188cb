"""A record for as many allocations as there is time for: memory stays flat, what is told is true.

Rounds allocate and free small and large blocks, arrays, threads, and functions that are made and
thrown away; a known number of blocks is kept and exchanged. The record is told each round, as by a
guard. Each line says what was allocated until then, by the record itself.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import threading
import time
import zlib
from collections import deque

import numpy as np

from leakguard.capture.births import BirthRecord
from leakguard.capture.births.birth_record import _births

_TABLE = [{"name": f"entry {n}", "values": [n / 7, n, None, "x" * 20]} for n in range(60)]
# What is alive at any time: so many blocks of 5,000 bytes.
_KEPT = 400


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def exchange(kept):
    """Let go of the oldest block that is kept, and keep a new one."""
    kept.append(bytearray(5_000))


def play(number, kept):
    """Allocate and free for one round."""
    for _ in range(20):
        json.loads(json.dumps(_TABLE))
        exchange(kept)
    for size in (10, 300, 3_000, 100_000):
        np.ones(size) * np.ones(size)
    space: dict[str, object] = {}
    exec(f"def made{number}(n):\n    return [bytes(n)] * 3", space)
    space[f"made{number}"](600)
    if number % 50 == 0:
        packers = [threading.Thread(target=zlib.compress, args=(bytes(50_000),)) for _ in range(3)]
        for thread in packers:
            thread.start()
        for thread in packers:
            thread.join()


def _line(record, rounds):
    record.check()
    live, places, (python, c) = _births.figures()
    told = [p for p in record.cohorts(rounds).places if p.function == "exchange"]
    mine, error = sum(p.bytes for p in told), sum(p.error**2 for p in told) ** 0.5
    true = _KEPT * 5_001
    off = (mine - true) / max(error, 1)
    return (
        f"| {time.process_time():,.0f} | {rounds:,} | {(python[3] + c[3]) / 1e9:.2f} |"
        f" {(python[2] + c[2]) / 1e9:,.0f} | {record.share:.0%} | {live:,} | {places:,} |"
        f" {_resident():.1f} | {mine / true:.2f} ({off:+.1f} errors) |"
    )


def main() -> None:
    """Print a line a minute of CPU time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1_200.0, help="of CPU time")
    parser.add_argument("--every", type=float, default=60.0, help="of CPU time")
    given = parser.parse_args()
    record = BirthRecord(most_share=0.01)
    record.start()
    kept: deque[bytearray] = deque((bytearray(5_000) for _ in range(_KEPT)), maxlen=_KEPT)
    print("| CPU s | rounds | G blocks | GB | small recorded | samples | places | MB | kept |")
    print("|---|---|---|---|---|---|---|---|---|")
    number, said = 0, 0.0
    while time.process_time() < given.seconds:
        record.check()
        record.mark(number, "soak")
        play(number, kept)
        number += 1
        if time.process_time() > said + given.every or number == 100:
            said = time.process_time()
            gc.collect()
            print(_line(record, number), flush=True)


if __name__ == "__main__":
    main()
