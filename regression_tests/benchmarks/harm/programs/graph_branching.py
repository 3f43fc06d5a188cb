"""Graphs: one with many branches, each of them deep, must be released as unwatched."""

import sys

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
ARGUMENTS = ["1000", "60000", "1000000"]
HEAVY = ["1000000"]
ROUNDS = 60


def train(nodes):
    branches = [torch.ones(4, requires_grad=True) * 1.0 for _ in range(4)]
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            for _ in range(nodes // ROUNDS // 4):
                branches = [branch.tanh() for branch in branches]
            event(sum(branches).sum().item())
    loss = sum(branches).sum()
    branches.clear()
    event("joined", loss.item())
    del loss
    event("released")


train(int(sys.argv[1]))
