"""A solver that takes scratch space once it starts to refine."""
# /// truth
# about = "weakref.finalize is given a bound method of the object it shall clean up, which keeps it alive"
# [[leak]]
# type = "ScratchSpace"
# holder = "_registry"
# phase = "refine"
# start = 41
# within = 2
# kind = ["instances", "arrays"]
# ///
import os
import sys
import weakref

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 130
REFINE_FROM = 41

reserved = {"bytes": 0}


def give_back(amount):
    reserved["bytes"] -= amount


class ScratchSpace:
    def __init__(self, shape):
        self.block = np.zeros(shape)
        reserved["bytes"] += self.block.nbytes
        if LEAK:
            self.finalizer = weakref.finalize(self, self.release)
        else:
            self.finalizer = weakref.finalize(self, give_back, self.block.nbytes)

    def release(self):
        give_back(self.block.nbytes)


class Poisson:
    def __init__(self, n=120):
        rng = np.random.default_rng(2)
        self.source = rng.normal(size=(n, n))
        self.field = np.zeros((n, n))

    def relax(self, times, field):
        for _ in range(times):
            field[1:-1, 1:-1] = 0.25 * (
                field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] - self.source[1:-1, 1:-1]
            )
        return field

    def refine(self):
        scratch = ScratchSpace(self.field.shape)
        scratch.block[:] = self.field
        self.relax(80, scratch.block)
        self.field += 0.5 * (scratch.block - self.field)


problem = Poisson()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for sweep in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("relax"):
            problem.relax(200, problem.field)
        with guard.phase("refine"):
            if sweep >= REFINE_FROM:
                problem.refine()
        with guard.phase("norm"):
            norm = float(np.linalg.norm(problem.field))
