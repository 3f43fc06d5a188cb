"""Graphs: one whose nodes are shared has more paths than a walk could go: each node is met once."""

import sys
import time

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
ARGUMENTS = ["1000", "100000", "300000"]
HEAVY = ["1000", "300000"]
# A look in each of sixty rounds, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 60), "wall_s": (1.5, 60)}
ROUNDS = 60


def grown(state, nodes):
    for _ in range(nodes // 3):
        state = state * 0.5 + state * 0.5
    return state


def train(nodes):
    state = torch.ones(4, requires_grad=True) * 1.0
    kept = []
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            state = grown(state, nodes // ROUNDS)
            kept.append(state)
            event(state.sum().item())
            time.sleep(0.02)
    kept.clear()
    del state
    event("released")


train(int(sys.argv[1]))
