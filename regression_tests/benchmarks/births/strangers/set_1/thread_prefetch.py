"""Prefetches shards in a thread while the main loop sums them."""
import queue
import sys
import threading

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"


class Prefetcher:
    def __init__(self, seed, count):
        self.seed, self.count = seed, count
        self.shards = queue.Queue(maxsize=2)
        self.orders = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        rng = np.random.default_rng(self.seed)
        scratch = np.zeros(60_000)
        for _ in range(self.count):
            scratch[:] = rng.random(60_000)
            self.shards.put(np.sort(scratch[:40_000]))
        while self.orders.get() != "stop":
            scratch[:] = 0

    def __iter__(self):
        for _ in range(self.count):
            yield self.shards.get()

    def close(self):
        self.orders.put("stop")
        self.thread.join()


def run_epoch(number):
    prefetcher = Prefetcher(number, 30)
    total = 0.0
    for shard in prefetcher:
        total += float(np.convolve(shard, np.ones(50) / 50, "valid").mean())
    if FIXED:
        prefetcher.close()
    return total


guard = LeakGuard(out=sys.argv[2])
means = []
with guard:
    for number in guard.generations(range(60)):
        with guard.phase("epoch"):
            means.append(run_epoch(number))
print("epochs", len(means), "mean", round(sum(means) / len(means), 4))
