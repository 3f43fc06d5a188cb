"""Children: a handler of SIGCHLD must be called for the program's own children alone."""

import os
import signal
import subprocess
import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


called = []
signal.signal(signal.SIGCHLD, lambda *_: called.append(1))
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for number in guard.generations(range(15)):
        kept.extend(Sample() for _ in range(500))
        if number % 5 == 0:
            event(subprocess.run([sys.executable, "-ISc", "raise SystemExit(5)"]).returncode)
        time.sleep(0.06)
        event(number, len(called))
event(len(called), os.getpgrp() == os.getpid())
