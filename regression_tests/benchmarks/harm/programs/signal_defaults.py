"""Signals: what has no handler must have none while it is watched, and interrupts raise."""

import os
import signal
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


kept = []
handlers = {number: signal.getsignal(number) for number in signal.Signals if number < 32}
with watched() as guard:
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        try:
            time.sleep(0.03)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.03)
        except KeyboardInterrupt:
            event("interrupted", number)
        now = {each: signal.getsignal(each) for each in handlers}
        event([each.name for each in handlers if now[each] != handlers[each]])
        with open("/proc/self/status") as lines:
            told = dict(line.rstrip().split(":\t", 1) for line in lines if line.startswith("Sig"))
        event({name: told[name] for name in ("SigBlk", "SigIgn", "SigCgt")})
