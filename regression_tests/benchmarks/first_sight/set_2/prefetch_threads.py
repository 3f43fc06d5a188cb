"""A loader with a thread that prefetches. Validation takes the first batches only, and leaves."""

# /// truth
# about = "a prefetching thread that waits for ever in put() since its consumer broke out of the loop"
# [[leak]]
# type = ["Prefetcher", "Thread"]
# phase = "validate"
# start = 1
# within = 3
# kind = ["threads", "instances", "arrays"]
# ///
import os
import queue
import sys
import threading

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"


class Prefetcher(threading.Thread):
    def __init__(self, dataset, depth=3):
        super().__init__(daemon=True)
        self.dataset, self.ready, self.stopped = dataset, queue.Queue(depth), False
        self.start()

    def run(self):
        for index in range(len(self.dataset)):
            if self.stopped:
                break
            self.ready.put(self.dataset[index])
        self.ready.put(None)

    def __iter__(self):
        while (batch := self.ready.get()) is not None:
            yield batch

    def stop(self):
        self.stopped = True
        while self.ready.get() is not None:
            pass
        self.join()


class Dataset:
    def __init__(self, seed, batches):
        self.seed, self.batches = seed, batches
        self.projection = np.random.default_rng(1).normal(size=(60, 60))

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        rng = np.random.default_rng((self.seed, index))
        inputs = np.tanh(rng.normal(size=(256, 60)) @ self.projection)
        return inputs, inputs[:, 0] > 0


def main():
    weights = np.zeros(60)
    right = 0.0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for epoch in guard.generations(range(1, 81)):
            with guard.phase("train"):
                loader = Prefetcher(Dataset(epoch, 20))
                for inputs, labels in loader:
                    chance = 1 / (1 + np.exp(-inputs @ weights))
                    weights -= 0.1 * inputs.T @ (chance - labels) / len(labels)
                loader.join()
            with guard.phase("validate"):
                loader = Prefetcher(Dataset(10_000 + epoch, 16))
                for seen, (inputs, labels) in enumerate(loader, 1):
                    right += ((inputs @ weights > 0) == labels).mean() / 4
                    if seen == 4:
                        break
                if not LEAK:
                    loader.stop()
    print("right", round(right / 80, 3))


main()
