"""Dispatch: a mode that counts every operation of a round must count the program's alone."""

import time

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
# A look in each round, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 20), "wall_s": (1.5, 20)}


class Operations(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        Operations.count += 1
        return function(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        Functions.count += 1
        return function(*args, **(kwargs or {}))


def grown():
    for _ in range(40):
        kept.append((parameter * parameter).exp().sum())
    time.sleep(0.05)


parameter = torch.nn.Parameter(torch.ones(40))
kept = []
with watched(max_overhead=None) as guard, Operations(), Functions():
    for number in guard.generations(range(12)):
        grown()
        guard.snapshot(f"in mode {number}")
        event(Operations.count, Functions.count)
