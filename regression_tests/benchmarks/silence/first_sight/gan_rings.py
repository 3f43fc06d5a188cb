"""GAN on a 2-D ring of gaussians, with sample snapshots and feature statistics."""
import math
import os
import sys
from collections import deque

import torch
from torch import nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(0)
LEAK = sys.argv[1] == "leak"
ROUNDS = 30
STEPS = 14
Z = 16


def real_batch(n):
    k = torch.randint(0, 8, (n,)).float() * (2 * math.pi / 8)
    centers = torch.stack([k.cos(), k.sin()], dim=1)
    return centers + 0.05 * torch.randn(n, 2)


def mlp(inp, hidden, out):
    return nn.Sequential(
        nn.Linear(inp, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, out),
    )


class FeatureStats:
    """Compares discriminator features of real and fake samples (a poor man's FID)."""

    def __init__(self, disc):
        self.trunk = disc[:4]
        self.features = {"real": [], "fake": []}

    def collect(self, kind, batch):
        with torch.no_grad():
            feats = self.trunk(batch)
        self.features[kind].append(feats)

    def distance(self):
        real = torch.cat(self.features["real"][-4:])
        fake = torch.cat(self.features["fake"][-4:])
        return float((real.mean(0) - fake.mean(0)).norm())

    def reset(self):
        for feats in self.features.values():
            del feats[:-4]


class GanTrainer:
    def __init__(self):
        self.g = mlp(Z, 128, 2)
        self.d = mlp(2, 128, 1)
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.bce = nn.BCEWithLogitsLoss()
        self.fixed_z = torch.randn(256, Z)
        self.snapshots = [] if LEAK else deque(maxlen=8)
        self.stats = FeatureStats(self.d)

    def train_steps(self):
        for _ in range(STEPS):
            real = real_batch(128)
            fake = self.g(torch.randn(128, Z))
            d_loss = self.bce(self.d(real), torch.ones(128, 1)) + \
                self.bce(self.d(fake.detach()), torch.zeros(128, 1))
            self.opt_d.zero_grad()
            d_loss.backward()
            self.opt_d.step()

            g_loss = self.bce(self.d(fake), torch.ones(128, 1))
            self.opt_g.zero_grad()
            g_loss.backward()
            self.opt_g.step()
        return d_loss.item(), g_loss.item()

    def snapshot(self):
        points = self.g(self.fixed_z)
        self.snapshots.append(points if LEAK else points.detach())
        return float(points.detach().norm(dim=1).mean())

    def measure(self):
        self.stats.collect("real", real_batch(512))
        with torch.no_grad():
            fake = self.g(torch.randn(512, Z))
        self.stats.collect("fake", fake)
        score = self.stats.distance()
        if not LEAK:
            self.stats.reset()
        return score


trainer = GanTrainer()
guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
with guard:
    for r in guard.generations(range(ROUNDS)):
        with guard.phase("train"):
            d_loss, g_loss = trainer.train_steps()
        with guard.phase("snapshot"):
            radius = trainer.snapshot()
        with guard.phase("measure"):
            score = trainer.measure()
        if r % 10 == 9:
            print(f"round {r + 1}: d {d_loss:.3f} g {g_loss:.3f} radius {radius:.2f} dist {score:.3f}")
print("kept snapshots:", len(trainer.snapshots) if not LEAK else "all")
