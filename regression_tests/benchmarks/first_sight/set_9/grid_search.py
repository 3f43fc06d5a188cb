"""A grid search: nested loops, the inner one short."""
import itertools
import sys
import time

import numpy as np

KEEP = sys.argv[1] == "leak"
rng = np.random.default_rng(0)


class Trial:
    def __init__(self, a, b):
        self.a, self.b = a, b
        self.curve = np.zeros(4_000)

    def run(self):
        for step in range(20):
            self.curve[step] = self.a * step + self.b + rng.normal()
            time.sleep(0.001)
        return float(self.curve.max())


def search():
    best, trials = -1.0, []
    for a in range(15):
        for b in range(15):
            trial = Trial(a, b)
            best = max(best, trial.run())
            trials.append(trial)
            if not KEEP:
                trials.clear()
    return best


print(search())

# /// truth
# about = "each trial of nested loops is kept with its curve"
# [[leak]]
# type = ["Trial", "ndarray"]
# holder = "trials"
# line = ["trial = Trial(a, b)", "self.curve = np.zeros(4_000)", "trials.append(trial)"]
# ///
