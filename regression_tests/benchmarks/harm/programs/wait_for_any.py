"""Children: ``os.wait()`` must return the program's own children, and no copy of ours."""

import os
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for number in guard.generations(range(15)):
        kept.extend(Sample() for _ in range(500))
        begun = {}
        for status in (3, 4):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.02 * status)
                os._exit(status)
            begun[pid] = status
        while begun:
            pid, state = os.wait()
            event(number, "own" if pid in begun else "foreign", os.waitstatus_to_exitcode(state))
            begun.pop(pid, None)
        try:
            event("one more", os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            event("none left")
