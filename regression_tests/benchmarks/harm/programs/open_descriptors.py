"""Descriptors: there must be no more of them after, and files must open as they do alone."""

import os
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


def opened():
    kinds = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            kinds.append(os.readlink(f"/proc/self/fd/{name}").partition(":")[0])
        except OSError:  # that of the listing itself
            continue
    return len(kinds)


before = opened()
kept = []
with watched() as guard:
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
        with open(f"file{number}", "w") as file:
            file.write("text")
            event("inheritable", os.get_inheritable(file.fileno()))
# Under `leakguard run` the run file and its lock are still open.
event("more than before:", max(opened() - before - 2, 0))
