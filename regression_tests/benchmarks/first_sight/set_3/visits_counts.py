"""Tree search asks a default dictionary how often a state was seen."""

# /// truth
# about = "asking a default dictionary makes an entry for every state that was only looked at"
# [[leak]]
# type = ["Stats", "tuple"]
# holder = ["visits", "Visits"]
# phase = "select"
# start = 1
# ///
import os
import random
import sys
from collections import defaultdict

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
random.seed(21)


class Stats:
    __slots__ = ("count", "value")

    def __init__(self):
        self.count, self.value = 0, 0.0


class Visits(defaultdict):
    """State to its statistics; how well a state is known decides where to look next."""

    def __init__(self):
        super().__init__(Stats)

    def known(self, state):
        if LEAK:
            return self[state].count
        return self[state].count if state in self else 0


visits = Visits()


def neighbours(state):
    return [(state[0] + dx, state[1] + dy, random.randrange(1_000_000)) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]


def select(state, depth):
    for _ in range(depth):
        state = min(neighbours(state), key=visits.known)
    return state


def rollout(state):
    value = 0.0
    for _ in range(4_000):
        value = 0.999 * value + ((state[0] * 31 + state[1] * 17) % 97) * random.random()
    return value


guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for search in guard.generations(range(1, 301)):
        with guard.phase("select"):
            leaves = [select((0, 0, 0), depth=4) for _ in range(10)]
        with guard.phase("rollout"):
            values = [rollout(leaf) for leaf in leaves]
        with guard.phase("backup"):
            visits[(0, 0, 0)].count += 1
            visits[(0, 0, 0)].value += sum(values)
