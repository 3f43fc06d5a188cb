"""A logger per trial with a MemoryHandler; loggers live for ever. on_leak sends an 'alert'."""
import logging
import logging.handlers
import sys
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
alerts = []


def trial_logger(number):
    log = logging.getLogger("search" if CLEAN else f"search.trial{number:04d}")
    if not log.handlers:
        log.setLevel(logging.DEBUG)
        log.propagate = False
        log.addHandler(logging.handlers.MemoryHandler(2000, flushLevel=logging.ERROR, target=logging.NullHandler()))
    return log


def trial(number):
    log = trial_logger(number)
    x = 0.5
    for step in range(1500):
        x = 3.7 * x * (1 - x)
        log.debug("step %d x=%s", step, {"x": x, "grad": [x] * 5})
    log.info("done")
    return x


guard = LeakGuard(out=f"s24.{'clean' if CLEAN else 'leaky'}.jsonl", on_leak=lambda report: alerts.append(report.verdict))
with guard:
    for number in guard.generations(range(1, 46)):
        with guard.phase("trial"):
            trial(number)
print("alerts", alerts)
