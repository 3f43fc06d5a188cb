"""Graphs: a chain of ``.grad`` as deep as higher derivatives make it must not end the process."""

import sys
import time

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
# A look in each round, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 20), "wall_s": (1.5, 20)}
ARGUMENTS = ["1000", "100000"]
ROUNDS = 12


def grown(links, depth):
    for _ in range(depth):
        links[-1].grad = torch.ones(1, requires_grad=True)
        links.append(links[-1].grad)
    time.sleep(0.05)


def train(depth):
    links = [torch.ones(1, requires_grad=True)]
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            grown(links, depth // ROUNDS)
            event(len(links))
    while len(links) > 1:  # from its end: released from its beginning torch itself recurses
        links.pop()
        links[-1].grad = None
    event("released", links[0].grad)


train(int(sys.argv[1]))
