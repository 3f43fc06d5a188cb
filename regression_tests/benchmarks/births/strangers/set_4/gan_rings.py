"""A generator and a discriminator play over points on noisy rings."""
import collections
import copy
import math

import torch
from torch import nn

LATENT, SIDE = 24, 16
BATCH = 128


def real_batch(gen):
    """Little pictures of rings, 16 by 16."""
    radius = 3 + 4 * torch.rand(BATCH, 1, 1, generator=gen)
    axis = torch.arange(SIDE) - SIDE / 2
    dist = torch.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2)
    pic = torch.exp(-((dist - radius) ** 2))
    return (pic + 0.05 * torch.randn(BATCH, SIDE, SIDE, generator=gen)).reshape(BATCH, -1)


def make_generator():
    return nn.Sequential(nn.Linear(LATENT, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, SIDE * SIDE))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(SIDE * SIDE, 128), nn.LeakyReLU(0.2), nn.Linear(128, 96), nn.LeakyReLU(0.2))
        self.head = nn.Linear(96, 1)

    def forward(self, x):
        return self.head(self.trunk(x)).squeeze(-1)


class FeatureProbe:
    """Compares the trunk's features on real and on made pictures."""

    def __init__(self, layer, reference):
        self.reference = reference
        self.seen = None
        self.handle = layer.register_forward_hook(self.watch)

    def watch(self, layer, args, output):
        self.seen = output.detach().clone()

    def distance(self):
        return float((self.seen.mean(0) - self.reference.mean(0)).norm())


class Averager:
    """An exponential moving average of the generator, with snapshots to go back to."""

    def __init__(self, net, keep=3):
        self.net = copy.deepcopy(net)
        self.keep = keep
        self.order = collections.deque()
        self.snapshots = {}

    def update(self, net):
        with torch.no_grad():
            for mine, theirs in zip(self.net.parameters(), net.parameters()):
                mine.lerp_(theirs, 0.05)

    def snapshot(self, epoch):
        name = f"ema-{epoch:04d}"
        self.snapshots[name] = copy.deepcopy(self.net.state_dict())
        self.order.append(name)
        while len(self.order) > self.keep:
            self.order.popleft()
        return name


class Game:
    def __init__(self):
        self.rng = torch.Generator().manual_seed(5)
        self.G = make_generator()
        self.D = Discriminator()
        self.g_opt = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.d_opt = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.average = Averager(self.G)
        self.bce = nn.BCEWithLogitsLoss()

    def train_discriminator(self):
        real = real_batch(self.rng)
        fake = self.G(torch.randn(BATCH, LATENT, generator=self.rng)).detach()
        loss = self.bce(self.D(real), torch.full((BATCH,), 0.9)) + self.bce(self.D(fake), torch.zeros(BATCH))
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        return loss.item()

    def train_generator(self):
        fake = self.G(torch.randn(BATCH, LATENT, generator=self.rng))
        loss = self.bce(self.D(fake), torch.ones(BATCH))
        self.g_opt.zero_grad()
        loss.backward()
        self.g_opt.step()
        self.average.update(self.G)
        return loss.item()

    def feature_gap(self):
        with torch.no_grad():
            reference = self.D.trunk(real_batch(self.rng))
            probe = FeatureProbe(self.D.trunk, reference)
            self.D(self.average.net(torch.randn(BATCH, LATENT, generator=self.rng)))
        return probe.distance()

    def epoch(self, number):
        d = g = 0.0
        for _ in range(10):
            d += self.train_discriminator() / 10
            g += self.train_generator() / 10
        gap = self.feature_gap()
        self.average.snapshot(number)
        return d, g, gap


game = None


def main():
    global game
    torch.manual_seed(1)
    game = Game()
    for number in range(50):
        d, g, gap = game.epoch(number)
        if number % 10 == 9:
            assert math.isfinite(d)
            print(f"epoch {number + 1:3d} d {d:.3f} g {g:.3f} gap {gap:.3f}")


if __name__ == "__main__":
    main()
