"""Learns a byte-pair vocabulary online and skip-gram vectors of its tokens."""
import contextlib
import queue
import sys
import threading
import weakref
from array import array
from collections import Counter, OrderedDict, deque

import numpy as np

MODE, LETTERS = sys.argv[1], "abcdefghijklmnop"
SHARDS, WORDS, TOKENS, WIDTH = 60, 2500, 400, 48


class Corpus:
    def __init__(self):
        self.rng = np.random.default_rng(4)
        self.words = ["".join(self.rng.choice(list(LETTERS), self.rng.integers(3, 9))) for _ in range(WORDS)]
        self.odds = 1 / np.arange(1, WORDS + 1)

    def shard(self, size=3000):
        return [self.words[i] for i in self.rng.choice(WORDS, size, p=self.odds / self.odds.sum())]


class Tokenizer:
    def __init__(self):
        self.ids = {letter: number for number, letter in enumerate(LETTERS)}
        self.merges, self.cache = {}, OrderedDict()

    def split(self, word):
        parts = list(word)
        while len(parts) > 1:
            ranked = [(self.merges.get(pair, 10**6), i) for i, pair in enumerate(zip(parts, parts[1:]))]
            if min(ranked)[0] == 10**6:
                break
            i = min(ranked)[1]
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        return parts

    def learn(self, words, new=12):
        counts = Counter()
        for word, times in Counter(words).items():
            parts = self.split(word)
            for pair in zip(parts, parts[1:]):
                counts[pair] += times
        for pair, _ in counts.most_common(new):
            if len(self.ids) < TOKENS:
                self.merges[pair] = len(self.merges)
                self.ids.setdefault(pair[0] + pair[1], len(self.ids))
        self.cache.clear()

    def encode(self, words):
        encoded = []
        for word in words:
            if word not in self.cache:
                self.cache[word] = [self.ids[part] for part in self.split(word)]
                if len(self.cache) > 1500:
                    self.cache.popitem(last=False)
            encoded += self.cache[word]
        return np.array(encoded, np.int16)


class PairLoader:
    """Prepares minibatches of (centre, context) pairs in a thread."""

    def __init__(self, tokens, size=512, window=3):
        shifts = [s for s in range(-window, window + 1) if s]
        inside = np.arange(window, len(tokens) - window)
        self.pairs = np.concatenate([np.stack([tokens[inside], tokens[inside + s]], 1) for s in shifts])
        self.size, self.stopped = size, False
        self.ready = queue.Queue(maxsize=4)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        rng = np.random.default_rng(len(self.pairs))
        while not self.stopped:
            self.ready.put(self.pairs[rng.integers(0, len(self.pairs), self.size)])

    def close(self):
        self.stopped = True
        while self.thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self.ready.get(timeout=0.01)


class SkipGram:
    losses = array("d")

    def __init__(self, rng):
        self.rng = rng
        self.rate = 0.5
        self.centre, self.context = rng.normal(0, 0.1, (TOKENS, WIDTH)), np.zeros((TOKENS, WIDTH))

    def step(self, pairs):
        a, b = pairs.T
        wrong = self.rng.integers(0, TOKENS, len(a))
        for other, label in ((b, 1.0), (wrong, 0.0)):
            guess = 1 / (1 + np.exp(-(self.centre[a] * self.context[other]).sum(1)))
            slope = (label - guess)[:, None] * self.rate / 16
            np.add.at(self.context, other, slope * self.centre[a])
            np.add.at(self.centre, a, slope * self.context[other])
            self.losses.extend(-np.log(np.abs(1 - label - guess) + 1e-9)[::4])

    def epoch(self, loader, batches=22):
        for _ in range(batches):
            self.step(loader.ready.get())
        mean = sum(self.losses[-batches * 256:]) / (batches * 256)
        if MODE == "fixed":
            del self.losses[:]
        self.rate = max(0.05, self.rate * 0.97)
        return mean


def nearest(tokenizer, model):
    unit = model.centre / np.linalg.norm(model.centre, axis=1, keepdims=True)
    index = np.argsort(-(unit @ unit.T), axis=1)[:, :24].copy()
    cleanup = weakref.finalize(tokenizer, index.fill, 0)
    names = dict(enumerate(tokenizer.ids))
    shared = [len(set(names.get(row[0], "")) & set(names.get(row[1], ""))) for row in index]
    if MODE == "fixed":
        cleanup.detach()
    return float(np.mean(shared))


def run_shard(number, corpus, tokenizer, model, recent):
    words = corpus.shard()
    tokenizer.learn(words)
    recent.append(tokenizer.encode(words))
    loader = PairLoader(recent[-1])
    loss = model.epoch(loader)
    if MODE == "fixed":
        loader.close()
    together = np.zeros((1200, 1200))
    np.add.at(together, (recent[-1][:-1], recent[-1][1:]), 1)
    overlap = nearest(tokenizer, model) if number >= 24 else 0.0
    return loss, overlap, float(together.max())


def main():
    corpus, tokenizer = Corpus(), Tokenizer()
    model, recent = SkipGram(corpus.rng), deque(maxlen=16)
    for number in range(1, SHARDS + 1):
        loss, overlap, top = run_shard(number, corpus, tokenizer, model, recent)
        if number % 10 == 0:
            print(f"{number:3d} tokens {len(tokenizer.ids)} loss {loss:.3f} overlap {overlap:.2f} top pair {top:.0f}")


if __name__ == "__main__":
    main()
