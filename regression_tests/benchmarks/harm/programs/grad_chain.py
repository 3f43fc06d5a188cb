"""Graphs: a chain of ``.grad`` as deep as higher derivatives make it must not end the process."""

import sys
import time

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
# A look in each round, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 20), "wall_s": (1.5, 20)}
ARGUMENTS = ["1000", "100000"]
ROUNDS = 12


def train(depth):
    first = last = torch.ones(1, requires_grad=True)
    links = [first]
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            for _ in range(depth // ROUNDS):
                last.grad = torch.ones(1, requires_grad=True)
                last = last.grad
                links.append(last)
            time.sleep(0.05)
            event(len(links))
    while len(links) > 1:  # from its end: released from its beginning torch itself recurses
        links.pop()
        links[-1].grad = None
    event("released", first.grad)


train(int(sys.argv[1]))
