"""Image classifier: loader threads fill a queue, the main thread trains an MLP from it."""
import queue
import sys
import threading
import time
from collections import deque

import numpy as np

MODE = sys.argv[1]
STEPS = 260
BATCH = 32


class Batch:
    def __init__(self, index, images, labels):
        self.index = index
        self.images = images
        self.labels = labels
        self.meta = {"source": f"shard-{index % 7}", "ids": [f"img_{index}_{k}" for k in range(len(labels))]}


class ShardLoader(threading.Thread):
    def __init__(self, number, out, stop):
        super().__init__(name=f"loader-{number}", daemon=True)
        self.number, self.out, self.stop = number, out, stop
        self.rng = np.random.default_rng(number)

    def run(self):
        index = self.number
        while not self.stop.is_set():
            time.sleep(0.03)  # disk
            images = self.rng.normal(size=(BATCH, 256)).astype(np.float32)
            labels = self.rng.integers(0, 10, BATCH)
            batch = Batch(index, images, labels)
            index += 3
            while not self.stop.is_set():
                try:
                    self.out.put(batch, timeout=0.2)
                    break
                except queue.Full:
                    continue


class StepRecord:
    def __init__(self, step, loss, batch, activations):
        self.step = step
        self.loss = loss
        self.batch = batch
        self.activations = activations


class MLP:
    def __init__(self, rng):
        self.w1 = rng.normal(scale=0.05, size=(256, 128)).astype(np.float32)
        self.w2 = rng.normal(scale=0.05, size=(128, 10)).astype(np.float32)

    def step(self, batch, lr=0.05):
        h = np.maximum(batch.images @ self.w1, 0)
        z = h @ self.w2
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        n = np.arange(len(batch.labels))
        loss = float(-np.log(p[n, batch.labels] + 1e-9).mean())
        d = p.copy()
        d[n, batch.labels] -= 1
        d /= len(n)
        dh = (d @ self.w2.T) * (h > 0)
        self.w2 -= lr * (h.T @ d)
        self.w1 -= lr * (batch.images.T @ dh)
        return loss, [h, z, p]


class History:
    def __init__(self, keep):
        self.records = deque(maxlen=keep)
        self.losses = deque(maxlen=50)

    def log(self, record):
        self.losses.append(record.loss)
        self.records.append(record)


def main():
    q = queue.Queue(maxsize=8)
    stop = threading.Event()
    loaders = [ShardLoader(k, q, stop) for k in range(3)]
    for t in loaders:
        t.start()
    model = MLP(np.random.default_rng(99))
    history = History(None if MODE == "leak" else 12)
    for step in range(STEPS):
        batch = q.get()
        loss, acts = model.step(batch)
        time.sleep(0.02)
        history.log(StepRecord(step, loss, batch, acts))
        if (step + 1) % 65 == 0:
            print(f"step {step + 1} finite={np.isfinite(np.mean(history.losses))}", flush=True)
    stop.set()
    for t in loaders:
        t.join()
    print("done", STEPS)


if __name__ == "__main__":
    main()

# /// truth
# about = "loader threads that fill a queue; the history keeps every record with its batch"
# [[leak]]
# type = ["StepRecord", "Batch"]
# holder = ["records"]
# line = ["history.log(StepRecord(step, loss, batch, acts))", "batch = Batch(index, images, labels)"]
# ///
