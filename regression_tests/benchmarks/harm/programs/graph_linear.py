"""Graphs: a hidden state that is never detached must be released as deep as it has become.

A node of torch's graph is a C++ object. Read from Python it gets an object there as well, and its
release then goes one stack frame deeper for each node.
"""

import sys

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
ARGUMENTS = ["1000", "30000", "1000000"]
HEAVY = ["1000000"]
ROUNDS = 60


def train(nodes):
    weight = torch.ones(4, requires_grad=True)
    hidden = weight * 1.0
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            for _ in range(nodes // ROUNDS):
                hidden = hidden + weight
            event(hidden.sum().item())
    del hidden
    event("released")


train(int(sys.argv[1]))
