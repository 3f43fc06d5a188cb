"""Signals: an alarm whose handler raises must leave nothing of the look that it interrupts.

Each is raised where the program is: in its round, or in the guard.
"""

import gc
import signal
import time

from regression_tests.benchmarks.harm.stage import event, watched

LIMITS = {"peak_mb": (1.5, 80), "cpu_s": (1.5, 60), "wall_s": (1.5, 60)}


class Sample:
    pass


class TooLate(Exception):
    pass


def too_late(*_):
    raise TooLate


signal.signal(signal.SIGALRM, too_late)
ballast = [[number] for number in range(400_000)]
kept = []
with watched(max_overhead=None) as guard:
    for number in guard.generations(range(40)):
        kept.extend(Sample() for _ in range(500))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01 + 0.004 * number)
            guard.snapshot(f"look {number}")
            time.sleep(0.3)
        except TooLate:
            event("too late")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
event(gc.isenabled(), signal.getsignal(signal.SIGALRM) is too_late)
