"""Dropped things: a file that its last reference closes must be whole for who opens it next."""

import threading
import time
import warnings

from regression_tests.benchmarks.harm.stage import watched

warnings.simplefilter("ignore", ResourceWarning)
FILES = 8


class Sample:
    pass


class Log:
    def __init__(self, path):
        self.file = open(path, "w")  # noqa: SIM115


def logs(over, empty):
    number = 0
    while not over.is_set() or number < FILES:  # all of them, however little time there was
        number += 1
        path = f"log{number % FILES}.txt"
        log = Log(path)
        log.file.write("written")
        time.sleep(0.0003)
        del log
        with open(path) as again:
            if again.read() != "written":
                empty.append(number)


over, empty = threading.Event(), []
thread = threading.Thread(target=logs, args=(over, empty))
thread.start()
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
print("some were read back empty" if empty else "all were whole")
