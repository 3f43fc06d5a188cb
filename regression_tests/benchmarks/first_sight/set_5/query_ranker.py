"""Offline evaluation of a little search engine: ranks queries against a random corpus."""
import hashlib
import random
import sys
from functools import lru_cache

import numpy as np

# /// truth
# about = "a search engine whose lru_cache on a method has no bound and sees only new queries"
# [[leak]]
# type = ["ndarray", "_lru_cache_wrapper", "tuple"]
# holder = ["query_vector", "Index", "_lru_cache_wrapper", "cache"]
# kind = ["arrays", "container"]
# line = ["vec = np.zeros(DIM)", "return vec / (np.linalg.norm(vec) + 1e-9)", "q = self.query_vector(query)"]
# ///

DIM = 512
CACHE = None if sys.argv[1] == "leak" else 256


class Index:
    def __init__(self, vocabulary, docs, rng):
        self.vocabulary = vocabulary
        self.docs = docs
        weights = rng.normal(size=(len(docs), DIM)).astype(np.float64)
        for row, doc in enumerate(docs):
            for word in doc:
                weights[row, self.slot(word)] += 2.0
        self.matrix = weights / np.linalg.norm(weights, axis=1, keepdims=True)

    @staticmethod
    def slot(word):
        return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little") % DIM

    @lru_cache(maxsize=CACHE)
    def query_vector(self, query):
        vec = np.zeros(DIM)
        words = query.split()
        for i, word in enumerate(words):
            vec[self.slot(word)] += 1.0
            for n in (3, 4):
                for j in range(len(word) - n + 1):
                    vec[self.slot(word[j:j + n])] += 0.3
            if i:
                vec[self.slot(words[i - 1] + "_" + word)] += 0.5
        return vec / (np.linalg.norm(vec) + 1e-9)

    def search(self, query, top=10):
        q = self.query_vector(query)
        scores = self.matrix @ q
        best = np.argpartition(-scores, top)[:top]
        return best[np.argsort(-scores[best])], scores


class Evaluation:
    def __init__(self, index, seed):
        self.index = index
        self.rand = random.Random(seed)
        self.hits = 0
        self.asked = 0

    def query_for(self, doc):
        words = [self.rand.choice(doc) for _ in range(5)] + self.rand.sample(self.index.vocabulary, 2)
        self.rand.shuffle(words)
        return " ".join(words)

    def run(self, rounds):
        for r in range(rounds):
            for _ in range(6):
                target = self.rand.randrange(len(self.index.docs))
                query = self.query_for(self.index.docs[target])
                found, _ = self.index.search(query)
                # a second pass with feedback from the best documents
                expanded = self.index.search(query)[1] + 0.3 * self.index.matrix @ self.index.matrix[found].mean(axis=0)
                self.hits += target in np.argsort(-expanded)[:10]
                self.asked += 1
            if (r + 1) % 90 == 0:
                print("round %4d  recall@10 %.3f" % (r + 1, self.hits / self.asked), flush=True)


if __name__ == "__main__":
    r = random.Random(2)
    vocab = ["".join(r.choice("bcdfgklmnprstvaeiou") for _ in range(r.randint(4, 10))) for _ in range(3000)]
    documents = [[r.choice(vocab) for _ in range(30)] for _ in range(2500)]
    Evaluation(Index(vocab, documents, np.random.default_rng(2)), 9).run(520)
