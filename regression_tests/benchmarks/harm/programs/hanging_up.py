"""Signals: a program that SIGHUP ends must end so, with what it had written, and not later."""

import os
import signal
import sys
import time

from regression_tests.benchmarks.harm.stage import watched

ARGUMENTS = ["SIGHUP", "SIGTERM", "SIGINT", "SIGQUIT"]


class Sample:
    pass


kept = []
with open("written.txt", "w") as file, watched() as guard:
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
        print("round", number, file=file, flush=True)
        if number == 10:
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
            time.sleep(1)
