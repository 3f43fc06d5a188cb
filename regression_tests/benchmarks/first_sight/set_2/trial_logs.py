"""Random search over hyperparameters. Each trial logs under its own name and has a workspace that is removed
at the end of the program at the latest."""

# /// truth
# about = "two leaks: a logger by trial name that logging keeps, and weakref.finalize with a bound method"
# [[leak]]
# type = ["Logger", "TrialLog", "LogRecord"]
# holder = "loggerDict"
# phase = ["start_trial", "fit"]
# start = 1
# within = 3
# kind = ["instances", "container"]
# [[leak]]
# type = ["Workspace", "ndarray"]
# holder = "_registry"
# phase = "start_trial"
# start = 1
# within = 3
# kind = ["instances", "arrays", "container"]
# ///
import logging
import os
import sys
import weakref

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(77)


class TrialLog(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)

    def worst(self):
        return max(record.args[1] for record in self.records)


class Workspace:
    def __init__(self):
        self.scratch = np.empty(12_000)
        self.used = 0
        if LEAK:
            weakref.finalize(self, self.remove)
        else:
            weakref.finalize(self, Workspace.note_removed)

    def remove(self):
        self.used = 0

    @staticmethod
    def note_removed():
        pass


def fit(log, workspace, rate, decay):
    inputs = workspace.scratch[:9600].reshape(400, 24)
    inputs[:] = rng.normal(size=(400, 24))
    target = inputs @ np.linspace(-1, 1, 24)
    weights = np.zeros(24)
    for step in range(600):
        error = inputs @ weights - target
        weights -= rate * (inputs.T @ error / 400 + decay * weights)
        if step % 50 == 0:
            log.info("step %d loss %.4f", step, float((error**2).mean()))
    return float((error**2).mean())


def main():
    best = float("inf")
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for number in guard.generations(range(1, 201)):
            with guard.phase("start_trial"):
                rate, decay = 10 ** rng.uniform(-3, -1), 10 ** rng.uniform(-6, -2)
                log = logging.getLogger(f"search.trial{number}" if LEAK else "search.trial")
                log.setLevel(logging.INFO)
                log.propagate = False
                handler = TrialLog()
                log.addHandler(handler)
                workspace = Workspace()
            with guard.phase("fit"):
                loss = fit(log, workspace, rate, decay)
            with guard.phase("judge"):
                best = min(best, loss)
                if number % 100 == 0:
                    print("trial", number, "best", best, "worst step", round(handler.worst(), 2))
                if not LEAK:
                    log.removeHandler(handler)
                del log, handler, workspace


main()
