"""Shared pages: objects that forked workers share must stay shared, whoever looks at them.

What a ``DataLoader`` does: the data set is frozen and its workers only read. A reference count that
is written unshares the page it stands on.
"""

import gc
import os
import sys
import time

from regression_tests.benchmarks.harm.stage import measured, memory_mb, watched

ARGUMENTS = ["300000", "3000000"]
HEAVY = ["3000000"]
# Of the guard's own memory, some 12 MB, four fifths are told as the share of the workers; and what
# it writes there between two forks leaves the earlier worker with a page of its own. What looks add
# to that is told apart: the workers' share at the end without that before the loop.
LIMITS = {
    "workers_pss_mb": (1.02, 10),
    "workers_unshared_mb": (1.02, 16),
    "looks_unshared_mb": (1.02, 2),
    "peak_mb": (1.2, 60),
}
WORKERS = 4


class Sample:
    pass


def worker(ready, ended):
    with open(f"/dev/fd/{ready}", "wb") as told:
        told.write(b"!")
    os.read(ended, 1)
    os._exit(0)


data = [(number, str(number)) for number in range(int(sys.argv[1]))]
gc.collect()
gc.freeze()
kept = []
ends = []
with watched() as guard:
    (ready, is_ready), (ended, end) = os.pipe(), os.pipe()
    for _ in range(WORKERS):
        if (pid := os.fork()) == 0:
            os.close(end)
            worker(is_ready, ended)
        ends.append(pid)
        os.read(ready, 1)
    before = sum(memory_mb(pid, "Pss") for pid in ends)
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
    for pid in ends:  # while all of them are there
        measured("workers_pss_mb", memory_mb(pid, "Pss"))
        measured("workers_unshared_mb", memory_mb(pid, "Private_Dirty"))
    measured("looks_unshared_mb", sum(memory_mb(pid, "Pss") for pid in ends) - before)
    os.write(end, b"." * WORKERS)
    for pid in ends:
        os.waitpid(pid, 0)
