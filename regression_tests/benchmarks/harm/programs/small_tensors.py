"""Big heaps: hundreds of thousands of small tensors must not be dear, one by one."""

import sys
import time

import torch

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
HEARTBEAT = True
ARGUMENTS = ["30000", "300000"]
HEAVY = ["300000"]
LIMITS = {"wall_s": (1.1, 7.6), "longest_stop_ms": (1, 100)}


def grown():
    kept.extend(torch.zeros(4) for _ in range(500))
    time.sleep(0.1)


ballast = [torch.zeros(4) for _ in range(int(sys.argv[1]))]
kept = []
with watched() as guard:
    for _ in guard.generations(range(6)):
        grown()
