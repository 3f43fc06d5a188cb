"""Contrastive pre-training on synthetic pictures, with staged shards and a profiled evaluation."""
import functools
import mmap
import sys

import numpy as np
import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
EPOCHS, BATCH, SIZE = 44, 48, 28


class ShardStage:
    """Pictures are drawn once per epoch into a mapping, from which the batches are read."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.mappings = {}

    def draw(self, count):
        grid = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32) / SIZE
        centre = self.rng.uniform(0.2, 0.8, (count, 2)).astype(np.float32)
        radius = self.rng.uniform(0.05, 0.3, (count, 1, 1)).astype(np.float32)
        distance = np.hypot(grid[0] - centre[:, 0, None, None], grid[1] - centre[:, 1, None, None])
        return np.exp(-(distance / radius) ** 2)

    def stage(self, name):
        pictures = self.draw(4 * BATCH)
        area = mmap.mmap(-1, pictures.nbytes)
        area.write(pictures.tobytes())
        self.mappings[name] = area

    def batches(self, name):
        area = self.mappings[name]
        step = BATCH * SIZE * SIZE * 4
        for start in range(0, len(area), step):
            flat = np.frombuffer(area[start:start + step], dtype=np.float32)
            yield torch.from_numpy(flat.reshape(BATCH, 1, SIZE, SIZE).copy())

    def release(self, name):
        self.mappings.pop(name).close()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 12, 3, stride=2), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2),
                                  nn.ReLU(), nn.Flatten(), nn.Linear(24 * 36, 128))

    def forward(self, pictures):
        return nn.functional.normalize(self.body(pictures), dim=-1)


def profiled(inner, table, pictures):
    embedding = inner(pictures)
    table[: len(embedding), : embedding.shape[1]] += embedding.detach().abs()
    return embedding


def augment(pictures, generator):
    shift = int(torch.randint(-3, 4, (), generator=generator))
    noise = torch.randn(pictures.shape, generator=generator)
    return pictures.roll(shift, dims=-1) + 0.05 * noise


class Pretraining:
    def __init__(self):
        self.model = Embedder()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.random = torch.Generator().manual_seed(8)
        self.target = {name: value.clone() for name, value in self.model.state_dict().items()}

    def train(self, batches):
        labels = torch.arange(BATCH)
        for pictures in batches:
            left, right = (self.model(augment(pictures, self.random)) for _ in range(2))
            loss = nn.functional.cross_entropy(left @ right.T / 0.1, labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.target = {name: 0.99 * self.target[name] + 0.01 * value
                       for name, value in self.model.state_dict().items()}
        return loss.item()

    @torch.no_grad()
    def usage(self, pictures):
        plain = self.model.forward
        table = torch.zeros(256, 256)
        self.model.forward = functools.partial(profiled, plain, table)
        for _ in range(3):
            self.model(augment(pictures, self.random))
        if FIXED:
            del self.model.forward
        return float((table > 0.05).float().mean())


def main():
    torch.manual_seed(8)
    torch.set_num_threads(1)
    stage, run = ShardStage(seed=8), Pretraining()
    probe = torch.from_numpy(ShardStage(seed=1).draw(BATCH)[:, None].copy())
    used = 0.0
    for epoch in range(EPOCHS):
        shard = f"shard-{epoch:04d}"
        stage.stage(shard)
        loss = run.train(stage.batches(shard))
        if FIXED:
            stage.release(shard)
        if epoch % 2 == 1:
            used = run.usage(probe)
    print(f"loss {loss:.3f}, used {used:.3f}")


main()
