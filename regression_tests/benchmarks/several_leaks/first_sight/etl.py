"""Extract, transform, load: batches of rows through a small pipeline."""
import sys
import time
from collections import deque

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(3)
rejects = []
monthly_totals = [np.zeros(500) for _ in range(30)]


class Writer:
    def __init__(self):
        self.pool = []

    def buffer(self):
        if self.pool and not LEAK:
            return self.pool.pop()
        return bytearray(100_000)

    def write(self, rows):
        used = [self.buffer() for _ in range(2)]
        raw = rows.tobytes()
        for i, buffer in enumerate(used):
            buffer[:50_000] = raw[i * 50_000:(i + 1) * 50_000]
        self.pool.extend(used)


class Pipeline:
    def __init__(self):
        self.history = [] if LEAK else deque(maxlen=3)
        self.writer = Writer()

    def extract(self, number):
        batch = rng.normal(size=(20_000, 4))
        if not LEAK:
            rejects.clear()
        for row in np.argsort(-batch[:, 0])[:300]:
            rejects.append({"row": int(row) + 1000, "value": float(batch[row, 0]), "batch": number, "why": "range"})
        return batch

    def transform(self, batch):
        scaled = (batch - batch.mean(axis=0)) / batch.std(axis=0)
        self.history.append(scaled[:100])
        return scaled


def main():
    pipeline = Pipeline()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(30)):
            with guard.phase("extract"):
                batch = pipeline.extract(number)
            with guard.phase("transform"):
                scaled = pipeline.transform(batch)
                monthly_totals[number][:] = scaled[:500, 0]
                time.sleep(0.08)
            with guard.phase("load"):
                pipeline.writer.write(scaled)
                time.sleep(0.04)


main()
