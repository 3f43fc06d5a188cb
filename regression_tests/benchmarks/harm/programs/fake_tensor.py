"""Dispatch: fake tensors have no memory and must be counted without running their mode's code."""

import time
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
# A look in each round, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 20), "wall_s": (1.5, 20)}
warnings.simplefilter("always")

dispatched = 0
_dispatch = FakeTensorMode.dispatch


def counted(self, *arguments, **named):
    global dispatched
    dispatched += 1
    return _dispatch(self, *arguments, **named)


def grown():
    with mode:
        for _ in range(20):
            kept.append(torch.empty(1000, 1000))
            kept.append(torch.nn.functional.relu(kept[-1]))
    time.sleep(0.05)


FakeTensorMode.dispatch = counted
mode = FakeTensorMode()
kept = []
with watched(max_overhead=None) as guard:
    for _ in guard.generations(range(12)):
        grown()
        event(dispatched)
meta = [torch.empty(10, device="meta") for _ in range(10)]
event("over", dispatched, len(kept), meta[0].shape)
