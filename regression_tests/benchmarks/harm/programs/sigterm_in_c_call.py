"""Signals: SIGTERM must end the process at once where the program has no handler for it.

A handler in Python waits until a long call of C code is over. Here it comes at the third round.
"""

import os
import time

from regression_tests.benchmarks.harm.stage import event, watched

LIMITS = {"wall_s": (1, 5)}


class Sample:
    pass


kept = []
with watched() as guard:
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
        event("round", number)
        if number == 8:
            os.system(f"(sleep 1; kill -TERM {os.getpid()}) &")
            sum(range(600_000_000))
