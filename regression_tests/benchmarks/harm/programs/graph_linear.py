"""Graphs: a hidden state that is never detached must be released as deep as it has become.

A node of torch's graph is a C++ object. Read from Python it gets an object there as well, and its
release then goes one stack frame deeper for each node.
"""

import sys
import time

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
ARGUMENTS = ["1000", "100000", "1000000"]
HEAVY = ["1000", "1000000"]
# A look in each of sixty rounds, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 60), "wall_s": (1.5, 60)}
ROUNDS = 60


def grown(hidden, weight, nodes):
    for _ in range(nodes):
        hidden = hidden + weight
    return hidden


def train(nodes):
    weight = torch.ones(4, requires_grad=True)
    hidden = weight * 1.0
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            hidden = grown(hidden, weight, nodes // ROUNDS)
            event(hidden.sum().item())
            time.sleep(0.02)
    del hidden
    event("released")


train(int(sys.argv[1]))
