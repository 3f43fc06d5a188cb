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
        begun, ended = {}, []
        for status in (3, 4):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.05)
                os._exit(status)
            begun[pid] = status
        while begun:
            pid, state = os.wait()
            whose = "own" if pid in begun else "foreign"
            ended.append((whose, os.waitstatus_to_exitcode(state)))
            begun.pop(pid, None)
        # Which of two children ends first is the machine's affair.
        event(number, sorted(ended))
        try:
            event("one more", os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            event("none left")
