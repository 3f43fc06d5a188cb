"""Depth: lists, instances and exceptions linked a hundred thousand deep must be left whole."""

import time

from regression_tests.benchmarks.harm.stage import event, watched

DEPTH, ROUNDS = 120_000, 12


class Link:
    def __init__(self, before):
        self.before = before


def train():
    nested, link, error, pairs = [], None, None, ()
    with watched() as guard:
        for _ in guard.generations(range(ROUNDS)):
            for _ in range(DEPTH // ROUNDS):
                nested, link, pairs = [nested], Link(link), (pairs, None)
                after = ValueError()
                after.__context__ = error
                error = after
            time.sleep(0.05)
            event("longer")
    counted = 0
    while error is not None:
        error, counted = error.__context__, counted + 1
    event(counted)
    while link is not None:
        link = link.before
    del nested, pairs
    event("released")


train()
