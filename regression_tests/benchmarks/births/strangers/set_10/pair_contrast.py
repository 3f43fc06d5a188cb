"""Contrastive pretraining on synthetic textures: two views of a picture should land close together."""
import itertools
import sys
from collections import deque

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

TIDY = sys.argv[1] == "fixed"
ROUNDS = 70
SIDE = 20
BATCH = 48
SECOND_STAGE = 28

torch.set_num_threads(1)
torch.manual_seed(8)


class Textures(IterableDataset):
    """A long stream of generated pictures."""

    def __init__(self, seed):
        self.seed = seed

    def __iter__(self):
        rng = np.random.default_rng(self.seed)
        grid = np.linspace(0, 2 * np.pi, SIDE)
        for _ in range(1_000_000):
            fx, fy, phase = rng.uniform(0.5, 5.0, 3)
            picture = np.sin(fx * grid)[:, None] * np.cos(fy * grid + phase)[None, :]
            yield torch.from_numpy((picture + 0.1 * rng.normal(size=(SIDE, SIDE))).astype(np.float32))


def forever(loader):
    while True:
        yield from loader


class Blur:
    """Gaussian blur along rows, as a matrix with wide margins; matrices are made once per strength."""

    def __init__(self):
        self.matrices = {}

    def matrix(self, strength):
        if strength not in self.matrices:
            place = torch.arange(SIDE * 5, dtype=torch.float32)
            near = torch.exp(-0.5 * ((place[:, None] - place[None, :]) / strength).square())
            self.matrices[strength] = near / near.sum(1, keepdim=True)
        return self.matrices[strength]

    def __call__(self, pictures, strength):
        return pictures @ self.matrix(strength)[2 * SIDE:3 * SIDE, 2 * SIDE:3 * SIDE]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, stride=2)
        self.hidden = nn.Linear(6 * 9 * 9, 96)
        self.norm = nn.BatchNorm1d(96)
        self.head = nn.Linear(96, 32)

    def forward(self, pictures):
        x = F.relu(self.conv(pictures[:, None]))
        return F.normalize(self.head(F.relu(self.norm(self.hidden(x.flatten(1))))), dim=1)


class Pretraining:
    def __init__(self):
        loader = DataLoader(Textures(17), batch_size=BATCH)
        self.batches = iter(forever(loader)) if TIDY else itertools.cycle(loader)
        self.encoder = Encoder()
        self.sgd = torch.optim.SGD(self.encoder.parameters(), lr=0.03, momentum=0.9)
        self.blur = Blur()
        self.rng = np.random.default_rng(2)
        self.negatives = deque(maxlen=8)
        self.masking = None

    def thin_gradients(self):
        """Every round another tenth of the hidden weights rests."""
        if TIDY and self.masking is not None:
            self.masking.remove()
        mask = (torch.rand_like(self.encoder.hidden.weight) > 0.1).float()
        self.masking = self.encoder.hidden.weight.register_hook(lambda gradient: gradient * mask)

    def strength(self, number):
        drawn = float(self.rng.uniform(0.4, 1.6))
        if number < SECOND_STAGE or TIDY:
            return round(drawn, 1)
        return drawn

    def view(self, pictures, number):
        flip = int(self.rng.integers(0, 2))
        turned = torch.flip(pictures, (1,)) if flip else pictures.transpose(1, 2)
        return self.blur(turned, self.strength(number)) + 0.05 * torch.randn_like(pictures)

    def step(self, number):
        pictures = next(self.batches)
        first = self.encoder(self.view(pictures, number))
        second = self.encoder(self.view(pictures, number))
        others = torch.cat([second, *self.negatives])
        loss = F.cross_entropy(first @ others.T / 0.2, torch.arange(len(pictures)))
        self.sgd.zero_grad()
        loss.backward()
        self.sgd.step()
        self.negatives.append(second.detach())
        return loss.item()

    def round(self, number):
        self.thin_gradients()
        return sum(self.step(number) for _ in range(5)) / 5


def main():
    pretraining = Pretraining()
    for number in range(1, ROUNDS + 1):
        loss = pretraining.round(number)
        if number % 20 == 0:
            bank = torch.cat(list(pretraining.negatives))
            print(f"round {number}: loss {loss:.3f} spread {bank.std(0).mean():.3f} "
                  f"negatives {len(bank)}")


if __name__ == "__main__":
    main()
