"""A variational autoencoder on synthetic digit pictures."""
import copy
import sys

import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(11)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(784, 128)
        self.mu, self.logvar = nn.Linear(128, 16), nn.Linear(128, 16)
        self.dec = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 784), nn.Sigmoid())

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


class ReconstructionMetric:
    """Mean error over the batches of one validation."""

    def __init__(self):
        self.outputs = []

    def update(self, recon, target):
        self.outputs.append((recon, (recon - target).abs().mean(1)))

    def compute(self):
        return float(torch.cat([error for _, error in self.outputs]).mean())

    def reset(self):
        self.outputs.clear()


class Keeper:
    def __init__(self, keep=3):
        self.keep = keep
        self.snapshots = {}

    def save(self, epoch, model):
        self.snapshots[epoch] = copy.deepcopy(model.state_dict())
        if FIXED:
            for old in sorted(self.snapshots)[:-self.keep]:
                del self.snapshots[old]


class Trainer:
    def __init__(self):
        self.model = VAE()
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3)
        self.metric = ReconstructionMetric()
        self.keeper = Keeper()
        self.data = torch.rand(1200, 784).round()
        self.curve = []

    def train(self):
        for batch in self.data[:1000].split(50):
            recon, mu, logvar = self.model(batch)
            loss = ((recon - batch) ** 2).sum(1).mean() - 0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.curve.append(loss.item())

    @torch.no_grad()
    def validate(self):
        for batch in self.data[1000:].split(50):
            recon, _, _ = self.model(batch)
            self.metric.update(recon, batch)
        error = self.metric.compute()
        if FIXED:
            self.metric.reset()
        return error


def main():
    trainer = Trainer()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for epoch in guard.generations(range(40)):
            with guard.phase("train"):
                trainer.train()
            with guard.phase("validate"):
                error = trainer.validate()
            with guard.phase("checkpoint"):
                trainer.keeper.save(epoch, trainer.model)
    print("error", round(error, 4), "loss", round(trainer.curve[-1], 3))


main()
