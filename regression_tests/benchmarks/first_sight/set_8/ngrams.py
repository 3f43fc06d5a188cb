"""Prepare text shards, then train a tiny bigram language model on windows of them."""
import sys
import time

import numpy as np

VOCAB = 200


class Shard:
    def __init__(self, number, text):
        self.number = number
        self.words = text.split()
        self.ids = None

    def encode(self, vocab):
        self.ids = np.array([vocab.setdefault(w, len(vocab)) for w in self.words])


class Context:
    def __init__(self, window, counts):
        self.window = window
        self.counts = counts
        self.followers = {}
        for a, b in zip(window[:-1].tolist(), window[1:].tolist()):
            self.followers.setdefault(a, []).append(b)


class Model:
    def __init__(self, cache_limit):
        self.logits = np.zeros((VOCAB, VOCAB))
        self._contexts = {}
        self.cache_limit = cache_limit

    def context(self, shard, start):
        key = (shard.number, start)
        if key not in self._contexts:
            window = shard.ids[start:start + 800]
            counts = np.bincount(window, minlength=VOCAB)
            self._contexts[key] = Context(window, counts)
            if self.cache_limit and len(self._contexts) > self.cache_limit:
                self._contexts.pop(next(iter(self._contexts)))
        return self._contexts[key]

    def update(self, ctx):
        total = 0.0
        for a, nexts in ctx.followers.items():
            row = self.logits[a]
            p = np.exp(row - row.max())
            p /= p.sum()
            total -= float(np.log(p[nexts]).sum())
            target = np.bincount(nexts, minlength=VOCAB)
            row += 0.1 * (target - len(nexts) * p)
        return total / (len(ctx.window) - 1)


def prepare(n):
    rng = np.random.default_rng(1)
    vocab = {}
    shards = []
    for i in range(n):
        time.sleep(0.06)  # download
        zipf = np.minimum(rng.zipf(1.4, size=8000), VOCAB) - 1
        shard = Shard(i, " ".join(f"w{z}" for z in zipf))
        shard.encode(vocab)
        shards.append(shard)
    return shards


def train(model, shards, steps):
    rng = np.random.default_rng(2)
    for step in range(steps):
        shard = shards[step % len(shards)]
        loss = model.update(model.context(shard, int(rng.integers(0, 7000))))
        time.sleep(0.035)
        if step % 40 == 0:
            print(f"step {step:4d} loss {loss:.5f}")


def main(mode):
    shards = prepare(24)
    print(len(shards), "shards")
    train(Model(cache_limit=None if mode == "leak" else 16), shards, 150)


if __name__ == "__main__":
    main(sys.argv[1])

# /// truth
# about = "24 shards are prepared; then each window of the training stays in a cache"
# [[leak]]
# type = ["Context"]
# holder = ["_contexts"]
# line = ["self._contexts[key] = Context(window, counts)"]
# ///
