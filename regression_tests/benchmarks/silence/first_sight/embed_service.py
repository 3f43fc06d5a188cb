"""Offline replay of an embedding service: requests in, nearest documents out."""
import os
import random
import sys
from functools import lru_cache

import torch
import torch.nn as nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(5)
MODE = sys.argv[1]
WINDOWS = 40          # replayed minutes of traffic
REQUESTS = 90

WORDS = [f"{a}{b}" for a in ("alpha", "beta", "gamma", "delta", "kappa", "sigma") for b in range(40)]


class Encoder(nn.Module):
    def __init__(self, vocab, dim=256):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim)
        self.proj = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, ids):
        return nn.functional.normalize(self.proj(self.bag(ids)), dim=-1)


class SearchService:
    def __init__(self, docs):
        self.vocab = {w: i for i, w in enumerate(WORDS)}
        self.encoder = Encoder(len(self.vocab)).eval()
        with torch.no_grad():
            self.index = torch.cat([self._encode(d) for d in docs])
        self.latencies = []

    def _encode(self, text):
        ids = torch.tensor([[self.vocab[w] for w in text.split() if w in self.vocab]])
        with torch.no_grad():
            return self.encoder(ids)

    @lru_cache(maxsize=None if MODE == "leak" else 256)
    def embed(self, text):
        return self._encode(text)

    def normalise(self, request):
        # the session is part of the text that clients send
        text = request["q"]
        if MODE == "fixed":
            text = text.split(" #", 1)[0]
        return text.strip().lower()

    def search(self, request, k=5):
        query = self.embed(self.normalise(request))
        scores = (query @ self.index.T).squeeze(0)
        return scores.topk(k).indices.tolist()


class Traffic:
    """Deterministic traffic: a Zipf-like choice of queries, each with its session id."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.popular = [" ".join(self.rng.sample(WORDS, 4)) for _ in range(50)]
        self.session = 0

    def window(self):
        for _ in range(REQUESTS):
            self.session += 1
            pick = min(int(self.rng.paretovariate(0.9)), len(self.popular)) - 1
            yield {"q": f"{self.popular[pick]} #s{self.session}", "session": self.session}


def main():
    rng = random.Random(1)
    docs = [" ".join(rng.choices(WORDS, k=12)) for _ in range(400)]
    service, traffic = SearchService(docs), Traffic(2)
    clicks = {}
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for minute in guard.generations(range(WINDOWS)):
            batch = list(traffic.window())
            with guard.phase("search"):
                for request in batch:
                    for doc in service.search(request):
                        clicks[doc] = clicks.get(doc, 0) + 1
            with guard.phase("reindex"):
                with torch.no_grad():
                    for start in range(0, len(docs), 4):
                        service.index[start:start + 4] = torch.cat(
                            [service._encode(d) for d in docs[start:start + 4]])
            if minute % 10 == 0:
                print(f"minute {minute}: {service.embed.cache_info().hits} hits, {len(clicks)} docs clicked")
    print("top docs", sorted(clicks, key=clicks.get)[-3:])


if __name__ == "__main__":
    main()
