"""Small VAE on synthetic images; keeps example reconstructions for a gallery page."""
import os
import sys
from collections import deque

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(77)
MODE = sys.argv[1]
EPOCHS, BATCHES, BATCH, SIDE = 22, 5, 96, 28
rng = np.random.default_rng(77)


def blobs(n):
    """n images, each with one gaussian blob."""
    yy, xx = np.mgrid[0:SIDE, 0:SIDE]
    cx, cy = rng.uniform(6, 22, (2, n, 1, 1))
    s = rng.uniform(2, 4, (n, 1, 1))
    img = np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * s * s))
    return torch.from_numpy(img.astype(np.float32)).flatten(1)


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(SIDE * SIDE, 96), nn.ReLU())
        self.mu, self.logvar = nn.Linear(96, latent), nn.Linear(96, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 96), nn.ReLU(), nn.Linear(96, SIDE * SIDE), nn.Sigmoid())

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


class Gallery:
    def __init__(self):
        self.items = [] if MODE == "leak" else deque(maxlen=8)

    def add(self, epoch, originals, recon, count=2):
        # a thumbnail or two of the epoch is enough
        pick = originals[:count], recon[:count]
        if MODE == "fixed":
            pick = tuple(t.clone() for t in pick)
        self.items.append((epoch, *pick))

    def worst(self):
        return max(self.items, key=lambda it: float(F.mse_loss(it[1], it[2])))[0]


def loss_fn(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return bce + 0.1 * kl


model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
gallery = Gallery()
history = []

guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
with guard:
    for epoch in guard.generations(range(1, EPOCHS + 1)):
        with guard.phase("train"):
            running = 0.0
            for _ in range(BATCHES):
                x = blobs(BATCH)
                recon, mu, logvar = model(x)
                loss = loss_fn(recon, x, mu, logvar)
                opt.zero_grad()
                loss.backward()
                opt.step()
                running += loss.item()
            history.append(running / BATCHES)

        with guard.phase("gallery"):
            model.eval()
            with torch.no_grad():
                test = blobs(128)
                out, _, _ = model(test)
            gallery.add(epoch, test, out)
            model.train()

        if epoch % 5 == 0:
            print(f"epoch {epoch}: loss {history[-1]:.2f}, worst shown epoch {gallery.worst()}")

print(f"final {history[-1]:.2f}, gallery of {len(list(gallery.items)[-8:])}")
