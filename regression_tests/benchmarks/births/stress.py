"""A record under as much as it can meet at once: threads, forks, rounds, windows, short intervals.

Each round it is read, too. It prints how far it got; a sanitizer says what was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import threading
import time
import zlib

from leakguard.capture.births import BirthRecord
from leakguard.capture.births.birth_record import _births

_THREADS = 4


def _churn(stop: threading.Event, seed: int) -> None:
    chance, kept = random.Random(seed), [b""] * 300
    while not stop.is_set():
        kept[chance.randrange(300)] = bytes(chance.choice((16, 100, 500, 700, 5_000, 80_000)))
        json.loads(json.dumps({"a": [1.5, None, "x" * 20]}))
        zlib.compress(bytes(20_000))  # without Python's lock


def main() -> int:
    """Play for so many seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--python-only", action="store_true", help="leave out C memory")
    asked = parser.parse_args()
    record = BirthRecord(native=not asked.python_only, interval=2_048, seed=1)
    record.start()
    assert record.problem is None, record.problem
    chance, stop = random.Random(1), threading.Event()
    threads = [threading.Thread(target=_churn, args=(stop, n)) for n in range(_THREADS)]
    for thread in threads:
        thread.start()
    ends, rounds, forks, wrong = time.monotonic() + asked.seconds, 0, 0, 0
    while time.monotonic() < ends:
        record.check()
        record.mark(rounds, f"phase {rounds % 5}")
        _births.record_small(chance.choice((0, 1, 2)))
        kept = [[number] * 20 for number in range(2_000)]
        record.cohorts(rounds)
        record.survivors(rounds)
        rounds += 1
        if rounds % 20 == 0:
            forks += 1
            child = os.fork()
            if child == 0:
                os._exit(int(record.survivors(rounds) is not None and not kept))
            wrong += os.waitpid(child, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    print(f"{rounds} rounds, {forks} forks, {wrong} wrong, {record.problem}")
    return int(wrong > 0 or record.problem is not None)


if __name__ == "__main__":
    sys.exit(main())
