"""A variational autoencoder of handwritten-looking glyphs, with a student decoder that is quantised in every round."""
import io
import sys
import zlib

import numpy as np
import torch
from leakguard import LeakGuard
from torch import nn
from torch.nn.utils import parametrize

TIDY = sys.argv[1] == "fixed"
ROUNDS, SIDE, LATENT, WIDTH, BATCH, LETTERS = 48, 16, 8, 96, 64, 36


class Templates:
    """Strokes of each letter, drawn when first asked for."""

    def __init__(self):
        self.drawn = {}

    def letter(self, number, slant):
        if (number, slant) not in self.drawn:
            rng = np.random.default_rng(number)
            page = np.zeros((SIDE, SIDE), np.float32)
            points = rng.uniform(2, SIDE - 3, (4, 2))
            for start, end in zip(points, points[1:]):
                for part in np.linspace(0, 1, 24):
                    row, col = start + part * (end - start)
                    page[int(row), int(np.clip(col + slant * (row - SIDE / 2) / 4, 0, SIDE - 1))] = 1.0
            self.drawn[number, slant] = (page + np.roll(page, 1, 1) * 0.5).clip(0, 1)
        return self.drawn[number, slant]


class Shards:
    """The pages come as compressed shards, one a round; the samples of a letter stay for the index of the book."""

    def __init__(self, seed, rare_from):
        self.templates, self.rng, self.rare_from = Templates(), np.random.default_rng(seed), rare_from
        self.thumbs = {}

    def pack(self, number):
        letters = self.rng.integers(0, LETTERS - 1 + (number > self.rare_from), 6 * BATCH)
        letters[-1] = LETTERS - 1 if number > self.rare_from else 0
        pages = np.stack([self.templates.letter(int(one), int(self.rng.integers(-2, 3))) for one in letters])
        noisy = (255 * (0.9 * pages + 0.1 * self.rng.random(pages.shape))).astype(np.uint8)
        return letters, zlib.compress(noisy.tobytes(), 1)

    def load(self, number):
        letters, packed = self.pack(number)
        raw = memoryview(zlib.decompress(packed))
        pages = np.frombuffer(raw, np.uint8).reshape(-1, SIDE * SIDE)
        if letters[-1] == LETTERS - 1:
            self.note(int(letters[-1]), number, raw[-SIDE * SIDE:])
        return torch.from_numpy(pages.astype(np.float32) / 255)

    def note(self, letter, number, thumb):
        if TIDY:
            self.thumbs[letter] = bytes(thumb)
        else:
            self.thumbs[letter, number] = thumb


class Rounded(nn.Module):
    """Weights on a grid of 15 steps, one grid a row; the gradient passes through."""

    def __init__(self, weight):
        super().__init__()
        self.register_buffer("scale", weight.detach().abs().amax(1, keepdim=True) / 7)
        self.register_buffer("mask", (weight.detach().abs() > 0.02 * self.scale).float())

    def forward(self, weight):
        grid = (weight / self.scale).round().clamp(-7, 7) * self.scale * self.mask
        return weight + (grid - weight).detach()


def decoder(width):
    return nn.Sequential(nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, SIDE * SIDE), nn.Sigmoid())


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SIDE * SIDE, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2 * LATENT))
        self.decoder = decoder(WIDTH)

    def forward(self, pages):
        mean, spread = self.encoder(pages).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (spread / 2).exp()
        return self.decoder(code), code, 0.5 * (mean.pow(2) + spread.exp() - spread - 1).sum(1).mean()


class Checkpoints:
    """The weights of the best rounds; the others are swept out."""

    def __init__(self, keep):
        self.keep, self.scores, self.blobs = keep, {}, {}

    def save(self, number, model, score):
        blob = io.BytesIO()
        torch.save(model.state_dict(), blob)
        self.scores[number], self.blobs[number] = score, blob
        if TIDY:
            self.sweep()

    def sweep(self):
        for number in sorted(self.blobs, key=self.scores.get)[self.keep:]:
            del self.blobs[number]

    def best(self):
        return min(self.blobs, key=self.scores.get)


class Workshop:
    def __init__(self):
        self.shards, self.model = Shards(8, rare_from=ROUNDS // 3), Autoencoder()
        self.student = decoder(WIDTH // 2)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.second = torch.optim.Adam(self.student.parameters(), lr=2e-3)
        self.checkpoints, self.losses = Checkpoints(keep=3), []

    def train(self, number, pages):
        warmth, total = min(1.0, number / 20), 0.0
        for part in torch.randperm(len(pages)).split(BATCH // 2):
            guess, code, divergence = self.model(pages[part])
            loss = nn.functional.mse_loss(guess, pages[part]) * SIDE + 0.01 * warmth * divergence
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += float(loss.detach())
        self.losses.append(total)

    def quantise(self):
        layer = self.student[2]
        if TIDY and parametrize.is_parametrized(layer):
            parametrize.remove_parametrizations(layer, "weight")
        parametrize.register_parametrization(layer, "weight", Rounded(layer.weight))

    def distil(self, pages):
        with torch.no_grad():
            guess, code, _ = self.model(pages[:4 * BATCH])
        for part in torch.randperm(len(code)).split(BATCH):
            loss = nn.functional.mse_loss(self.student(code[part]), guess[part])
            self.second.zero_grad()
            loss.backward()
            self.second.step()
        return loss.item()


def main():
    torch.manual_seed(4)
    torch.set_num_threads(1)
    shop = Workshop()
    guard = LeakGuard(out=sys.argv[2], report=None)
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("load"):
                pages = shop.shards.load(number)
            with guard.phase("train"):
                shop.train(number, pages)
            with guard.phase("compress"):
                if number >= ROUNDS * 4 // 9:
                    shop.quantise()
                gap = shop.distil(pages)
            with guard.phase("save"):
                shop.checkpoints.save(number, shop.model, shop.losses[-1])
            if number % 6 == 0:
                print(f"round {number:3d} loss {shop.losses[-1]:.3f} gap {gap:.5f} best {shop.checkpoints.best()}",
                      flush=True)


main()
