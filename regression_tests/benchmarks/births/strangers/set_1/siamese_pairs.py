"""Compares pairs of signals; a fresh encoder is fitted for each fold."""
import functools
import sys

import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(2)
SIGNALS = torch.randn(64, 96)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(96, 256), nn.ReLU(), nn.Linear(256, 128))

    @functools.lru_cache(maxsize=16 if FIXED else None)
    def embed(self, index):
        with torch.no_grad():
            return self.net(SIGNALS[index])


def fit(encoder, steps=25):
    optimizer = torch.optim.SGD(encoder.parameters(), 0.05)
    for step in range(steps):
        pick = torch.randperm(64)[:32]
        a, b = encoder.net(SIGNALS[pick]), encoder.net(SIGNALS[pick] + 0.1 * torch.randn(32, 96))
        loss = (a - b).pow(2).mean() + torch.relu(1 - a.std(0)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def score(encoder):
    distance = 0.0
    for i in range(16):
        for j in range(16):
            distance += float((encoder.embed(i) - encoder.embed(j)).norm())
    return distance / 256


def main():
    guard = LeakGuard(out=sys.argv[2])
    results = []
    with guard:
        for fold in guard.generations(range(70)):
            with guard.phase("fit"):
                encoder = Encoder()
                loss = fit(encoder)
            with guard.phase("score"):
                results.append((loss, score(encoder)))
    print("mean distance", round(sum(r[1] for r in results) / len(results), 4))


main()
