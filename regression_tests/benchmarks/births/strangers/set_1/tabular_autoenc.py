"""Autoencoder for anomaly scores on a table, with a warm-up before scoring."""
import sys

import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
WARMUP = 20
torch.set_num_threads(1)
torch.manual_seed(21)


class Tracker:
    def __init__(self):
        self.best = float("inf")
        self.candidates = []

    def offer(self, error, residuals):
        if error < self.best + 0.5:
            self.best = min(error, self.best)
            if FIXED:
                self.candidates[:] = [{"error": error, "residuals": residuals}]
            else:
                self.candidates.append({"error": error, "residuals": residuals})


class Detector:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 8), nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 40))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.table = torch.randn(3000, 8) @ torch.randn(8, 40)
        self.warm = []
        self.tracker = Tracker()

    def train(self, epoch):
        for rows in self.table[:2000].split(100):
            loss = (self.net(rows) - rows).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        if epoch < WARMUP:
            self.warm.append(torch.full((1000,), loss.item()))

    def score(self, epoch):
        held_out = self.table[2000:]
        with torch.no_grad():
            residuals = self.net(held_out) - held_out
        error = float(residuals.pow(2).mean())
        if epoch >= WARMUP:
            self.tracker.offer(error, residuals)
        return error


detector = Detector()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for epoch in guard.generations(range(80)):
        with guard.phase("train"):
            detector.train(epoch)
        with guard.phase("score"):
            error = detector.score(epoch)
print("error", round(error, 4))
