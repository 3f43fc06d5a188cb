"""Epochs over a data set; a ThreadPoolExecutor loads batches ahead of a logistic regression."""
import sys
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np

mode = sys.argv[1]
N_BATCHES = 24
EPOCHS = 9


class Sample:
    __slots__ = ("features", "label", "path")

    def __init__(self, features, label, path):
        self.features = features
        self.label = label
        self.path = path


class BatchCache:
    """Decoded samples by key."""

    def __init__(self, limit):
        self.limit = limit
        self.store = OrderedDict()

    def put(self, key, samples):
        self.store[key] = samples
        if self.limit is not None:
            while len(self.store) > self.limit:
                self.store.popitem(last=False)

    def get(self, key):
        return self.store.get(key)


# the key has the epoch in it because of augmentation, so nothing is ever found again
CACHE = BatchCache(None if mode == "leak" else 10)


def load(epoch, number):
    key = (epoch, number)
    found = CACHE.get(key)
    if found is not None:
        return found
    time.sleep(0.04)
    rng = np.random.default_rng(epoch * 1000 + number)
    samples = []
    for k in range(48):
        x = rng.normal(size=200)
        samples.append(Sample(x, float(x[:5].sum() > 0), f"/data/train/{number:04d}/{k:03d}.npy"))
    CACHE.put(key, samples)
    return samples


def train_batch(w, samples, lr):
    x = np.stack([s.features for s in samples])
    y = np.array([s.label for s in samples])
    for _ in range(5):
        p = 1 / (1 + np.exp(-(x @ w)))
        w -= lr * x.T @ (p - y) / len(y)
    return float(((p > 0.5) == y).mean())


def batches(pool, epoch, ahead=4):
    waiting = [pool.submit(load, epoch, n) for n in range(ahead)]
    for n in range(N_BATCHES):
        samples = waiting.pop(0).result()
        if n + ahead < N_BATCHES:
            waiting.append(pool.submit(load, epoch, n + ahead))
        yield samples


w = np.zeros(200)
with ThreadPoolExecutor(max_workers=4, thread_name_prefix="load") as pool:
    for epoch in range(1, EPOCHS + 1):
        acc = []
        for samples in batches(pool, epoch):
            acc.append(train_batch(w, samples, 0.1))
            time.sleep(0.025)
        print(f"epoch {epoch}: accuracy {np.mean(acc):.3f}", flush=True)
print(f"norm {np.linalg.norm(w):.4f}")

# /// truth
# about = "a pool of threads that loads batches ahead into a cache without a bound"
# [[leak]]
# type = ["Sample"]
# holder = ["store", "CACHE"]
# line = ['samples.append(Sample(x, float(x[:5].sum() > 0), f"/data/train/{number:04d}/{k:03d}.npy"))']
# ///
