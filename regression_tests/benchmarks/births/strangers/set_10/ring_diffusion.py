"""Denoising diffusion on points of two rings, with a moving average of the weights."""
import contextlib
import copy
import math
import sys
from collections import deque

import torch
from torch import nn

TIDY = sys.argv[1] == "fixed"
ROUNDS = 75
BATCH = 160
LEVELS = 30
KEEP = 4
SNAPSHOTS_FROM = 24

torch.set_num_threads(1)
torch.manual_seed(31)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 112), nn.SiLU(), nn.Linear(112, 112), nn.SiLU(), nn.Linear(112, 2))

    def forward(self, points, level):
        angle = level[:, None] * math.pi * torch.tensor([0.5, 1.0, 2.0, 4.0])
        return self.net(torch.cat([points, angle.sin(), angle.cos()], 1))


def rings(count, generator):
    angle = 2 * math.pi * torch.rand(count, generator=generator)
    radius = 0.5 + 0.5 * torch.randint(0, 2, (count,), generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1)


def noise_blocks(seed):
    """Pairs of points and noise, cut from one block that is drawn ahead."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        points = rings(BATCH * 40, generator)
        noise = torch.randn(points.shape, generator=generator)
        for start in range(0, len(points), BATCH):
            yield points[start:start + BATCH], noise[start:start + BATCH]


class Snapshots:
    """The last few averaged models, by step, for the final choice."""

    def __init__(self):
        self.models = {}

    def add(self, step, model):
        self.models[step if TIDY else f"step-{step}"] = copy.deepcopy(model)
        self.models.pop(step - KEEP, None)


class Training:
    def __init__(self):
        self.model = Denoiser()
        self.average = copy.deepcopy(self.model)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.snapshots = Snapshots()
        self.held_out = rings(BATCH, torch.Generator().manual_seed(1))
        self.smooth_loss = torch.zeros(())
        self.losses = deque(maxlen=200)
        self.samples = deque(maxlen=10)

    def loss(self, points, noise):
        level = torch.rand(len(points))
        keep = torch.cos(level * math.pi / 2)[:, None]
        mixed = keep * points + (1 - keep.square()).sqrt() * noise
        return (self.model(mixed, level) - noise).square().mean()

    def learn(self, points, noise):
        loss = self.loss(points, noise)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.losses.append(loss.item())
        with torch.no_grad():
            for mean, now in zip(self.average.parameters(), self.model.parameters()):
                mean.lerp_(now, 0.02)

    def validate(self):
        loss = self.loss(self.held_out, torch.randn(BATCH, 2))
        self.smooth_loss = 0.9 * self.smooth_loss + 0.1 * (loss.detach() if TIDY else loss)

    @torch.no_grad()
    def sample(self):
        points = torch.randn(BATCH, 2)
        for level in torch.linspace(0.98, 0.02, LEVELS):
            predicted = self.average(points, level.expand(BATCH))
            keep = torch.cos(level * math.pi / 2)
            clean = (points - (1 - keep.square()).sqrt() * predicted) / keep
            points = points + 0.08 * (clean.clamp(-1.5, 1.5) - points) + 0.02 * torch.randn(BATCH, 2)
        self.samples.append(points)
        return points.norm(dim=1).mean().item()

    def round(self, number, resources):
        blocks = resources.enter_context(contextlib.closing(noise_blocks(number)))
        for _ in range(20):
            self.learn(*next(blocks))
        self.validate()
        if number >= SNAPSHOTS_FROM:
            self.snapshots.add(number, self.average)
        return self.sample()


def main():
    training = Training()
    with contextlib.ExitStack() as resources:
        resources.callback(training.samples.clear)
        for number in range(1, ROUNDS + 1):
            with contextlib.ExitStack() if TIDY else contextlib.nullcontext(resources) as scope:
                radius = training.round(number, scope)
            if number % 25 == 0:
                print(f"round {number}: loss {training.losses[-1]:.3f} held out {training.smooth_loss.item():.3f} "
                      f"mean radius {radius:.3f} spread {torch.stack(list(training.samples)).std():.3f}")


if __name__ == "__main__":
    main()
