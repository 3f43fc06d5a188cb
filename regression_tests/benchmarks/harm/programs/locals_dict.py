"""Frames: the dict of ``locals()`` that a function keeps must not get names of ours.

``config = locals()`` is the usual way to write down what a function was called with. Up to CPython
3.12 there is one such dict a frame, which reading ``f_locals`` fills.
"""

import json
import time

from regression_tests.benchmarks.harm.stage import event, watched

PYTHONS = "<3.13"


class Sample:
    pass


def train(rate=0.1, rounds=12):
    config = locals()
    kept = []
    with watched() as guard:
        for _ in guard.generations(range(rounds)):
            kept.extend(Sample() for _ in range(500))
            time.sleep(0.05)
            event(sorted(config))
    print(json.dumps(config))


train()
