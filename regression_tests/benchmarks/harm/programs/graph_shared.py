"""Graphs: one whose nodes are shared has more paths than a walk could go: each node is met once."""

import sys

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
ARGUMENTS = ["1000", "30000", "300000"]
HEAVY = ["300000"]
ROUNDS = 60


def train(nodes):
    state = torch.ones(4, requires_grad=True) * 1.0
    kept = []
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            for _ in range(nodes // ROUNDS // 2):
                state = state * 0.5 + state * 0.5
            kept.append(state)
            event(state.sum().item())
    kept.clear()
    del state
    event("released")


train(int(sys.argv[1]))
