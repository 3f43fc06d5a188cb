"""Forks beside threads that allocate: each child ends, knows nothing of its parent, may begin anew.

A child that waits for a lock which another thread of the parent held would hang here.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import zlib

from leakguard.capture.births import BirthRecord


def in_child(number: int, parents: BirthRecord) -> bool:
    """Return whether the parent's record is gone; each fourth child begins its own, and asks it."""
    left = parents.cohorts()
    gone = left is None or left.samples == 0
    if number % 4:
        return gone
    own = BirthRecord(interval=512)
    own.start()
    made = [bytes(300) for _ in range(500)]
    told = own.cohorts()
    return gone and told is not None and 0.6 < told.bytes / (len(made) * 333) < 1.6


def main() -> int:
    """Fork so many times, and say how many children were wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1_000)
    times = parser.parse_args().times
    record = BirthRecord(interval=2_048)
    record.start()
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            zlib.compress(b"".join([bytes(700) for _ in range(200)]))
            time.sleep(0.0005)

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    wrong = 0
    for number in range(times):
        record.check()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if in_child(number, record) else 1)
        wrong += os.waitpid(pid, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    print(f"{times} forks beside three threads that allocate: {wrong} wrong, {record.problem}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
