"""Graphs: nodes of the program's own functions have contexts, which must be left as they are.

A context of ``autograd.Function`` is a Python object with what the program put into it.
"""

import sys
import time

import torch

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
ARGUMENTS = ["1000", "20000", "100000"]
HEAVY = ["1000", "100000"]
# A look in each of sixty rounds, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 60), "wall_s": (1.5, 60)}
ROUNDS = 60
dropped = 0


class Note:
    def __del__(self):
        global dropped
        dropped += 1


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, given, factor):
        ctx.save_for_backward(given)
        ctx.note, ctx.factor = Note(), factor
        return given * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


def grown(state, nodes):
    for _ in range(nodes):
        state = Scale.apply(state, 1.0)
    return state


def train(nodes):
    state = torch.ones(4, requires_grad=True) * 1.0
    with watched(max_overhead=None) as guard:
        for _ in guard.generations(range(ROUNDS)):
            state = grown(state, nodes // ROUNDS)
            event(dropped, state.sum().item())
            time.sleep(0.02)
    del state
    event("released", dropped)


train(int(sys.argv[1]))
