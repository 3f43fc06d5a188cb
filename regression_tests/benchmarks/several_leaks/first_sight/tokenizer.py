"""A tokenizer with a cache, and an embedder with a memo."""
import functools
import random
import sys
import time

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
WORDS = ["".join(random.choices("abcdefghijklmnop", k=6)) for _ in range(600)]


class Tokenizer:
    def __init__(self):
        self.vocabulary = {}
        self.cache = {}

    def ids(self, text):
        return [self.vocabulary.setdefault(word, len(self.vocabulary)) for word in text.split()]

    def encode(self, text):
        if text not in self.cache:
            self.cache[text] = self.ids(text)
        return self.cache[text]


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 128)
        self.memo = {}

    @torch.no_grad()
    def embed(self, key, ids):
        if key not in self.memo:
            self.memo[key] = self.table(torch.tensor(ids))
        return self.memo[key].mean(dim=0)


tokenizer = Tokenizer()
embedder = Embedder()


@functools.lru_cache(maxsize=128)
def encode_bounded(text):
    return tokenizer.ids(text)


def batch(step):
    return [" ".join(random.choices(WORDS, k=60)) for _ in range(80)]


def run(path):
    guard = LeakGuard(out=path)
    with guard:
        for step in guard.generations(range(45)):
            texts = batch(step)
            with guard.phase("encode"):
                coded = [tokenizer.encode(t) if LEAK else encode_bounded(t) for t in texts]
                time.sleep(0.04)
            with guard.phase("embed"):
                for slot, ids in enumerate(coded[:16]):
                    embedder.embed((step, slot) if LEAK else (slot, step % 2), ids[:40])
                time.sleep(0.04)


if __name__ == "__main__":
    run(sys.argv[2])
