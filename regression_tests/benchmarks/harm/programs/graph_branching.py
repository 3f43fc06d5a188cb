"""Graphs: one with branches, each of them deep, must be released as unwatched."""

import sys
import time

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
ARGUMENTS = ["1000", "120000", "1000000"]
HEAVY = ["1000", "1000000"]
# A look in each of sixty rounds, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 60), "wall_s": (1.5, 60)}
ROUNDS = 60


def grown(branches, nodes):
    for _ in range(nodes // len(branches)):
        branches = [branch.tanh() for branch in branches]
    return branches


def train(nodes):
    branches = [torch.ones(4, requires_grad=True) * 1.0 for _ in range(2)]
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            branches = grown(branches, nodes // ROUNDS)
            event(sum(branches).sum().item())
            time.sleep(0.02)
    loss = sum(branches).sum()
    branches.clear()
    event("joined", loss.item())
    del loss
    event("released")


train(int(sys.argv[1]))
