"""Joins two streams of records by key within a window."""
import random
import sys
import weakref
from collections import Counter, OrderedDict

FIXED = sys.argv[1] == "fixed"
random.seed(33)
closed = Counter()


class Source:
    def __init__(self, name):
        self.name = name
        self.count = 0

    def batch(self, size=3000):
        self.count += size
        return [(random.randrange(5000), self.count + i, random.random()) for i in range(size)]


class Window:
    def __init__(self, limit=4000):
        self.limit = limit
        self.rows = OrderedDict()

    def add(self, batch):
        for key, stamp, value in batch:
            self.rows[key] = (stamp, value)
            self.rows.move_to_end(key)
        while len(self.rows) > self.limit:
            self.rows.popitem(last=False)


def close_batch(name, batch):
    closed[name] += len(batch)


class Join:
    def __init__(self):
        self.left, self.right = Source("left"), Source("right")
        self.windows = {"left": Window(), "right": Window()}
        self.matches = 0
        self.cleanup = None

    def turn(self):
        for source in (self.left, self.right):
            batch = source.batch()
            self.windows[source.name].add(batch)
            if self.cleanup is not None and FIXED:
                self.cleanup.detach()
            self.cleanup = weakref.finalize(source, close_batch, source.name, batch)
            self.cleanup.atexit = False
        self.matches += len(self.windows["left"].rows.keys() & self.windows["right"].rows.keys())


def main():
    join = Join()
    for _ in range(250):
        join.turn()
    print("matches", join.matches)


main()
