"""Train a click model on a stream of shards, with a quality report of the hardest samples."""
import sys
from collections import deque

import torch
from torch import nn
from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
SHARDS = 96
ROWS = 6000
COLUMNS = 72
AUDIT_FROM = 24


class ClickModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(COLUMNS, 48), nn.ReLU(), nn.Linear(48, 1))
        self.register_buffer("mean", torch.zeros(COLUMNS))
        self.register_buffer("scale", torch.ones(COLUMNS))

    def forward(self, block):
        return self.layers((block - self.mean) / self.scale).squeeze(1)


class Reader:
    """Deterministic shards; the columns drift slowly and come back."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.weights = torch.randn(COLUMNS, generator=self.generator)

    def read(self, shard):
        block = torch.randn(ROWS, COLUMNS, generator=self.generator)
        block += 0.3 * torch.sin(torch.tensor(shard / 9.0))
        clicks = (block @ self.weights > 0.5 * COLUMNS ** 0.5).float()
        return block, clicks


class Audit:
    """The hardest sample of a shard, for people to look at."""

    def __init__(self):
        self.hardest = {}
        self.latest = deque(maxlen=5)
        self.seen = 0

    def inspect(self, shard, block, losses):
        worst = int(losses.argmax())
        sample = block[worst]
        self.seen += 1
        if FIXED:
            self.hardest["shard", self.seen % 4] = sample.clone()
        else:
            self.hardest["shard", shard] = sample
        self.latest.append((shard, float(losses[worst])))
        return float(sample.abs().max())


class Trainer:
    def __init__(self):
        self.model = ClickModel()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.audit = Audit()
        self.pool = []                          # a shuffle pool that fills to 12 chunks
        self.loss = nn.BCEWithLogitsLoss(reduction="none")

    def normalise(self, block):
        with torch.no_grad():
            self.model.mean.lerp_(block.mean(dim=0), 0.05)
            self.model.scale.lerp_(block.std(dim=0), 0.05)

    def shuffle(self, block, clicks):
        chunk = (block[:800].clone(), clicks[:800].clone())
        if len(self.pool) < 12:
            self.pool.append(chunk)
        else:
            self.pool[int(torch.randint(0, 12, ()))] = chunk
        blocks, labels = zip(*self.pool[-4:])
        return torch.cat([block, *blocks]), torch.cat([clicks, *labels])

    def fit(self, inputs, labels):
        order = torch.randperm(len(inputs))
        for rows in order.split(1024):
            loss = self.loss(self.model(inputs[rows]), labels[rows]).mean()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def sample_losses(self, block, clicks):
        return self.loss(self.model(block), clicks)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(21)
    reader, trainer = Reader(21), Trainer()
    checksum = 0.0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for shard in guard.generations(range(1, SHARDS + 1)):
            with guard.phase("read"):
                block, clicks = reader.read(shard)
                trainer.normalise(block)
            with guard.phase("fit"):
                checksum += trainer.fit(*trainer.shuffle(block, clicks))
            with guard.phase("audit"):
                losses = trainer.sample_losses(block, clicks)
                checksum += float(losses.mean())
                if shard >= AUDIT_FROM and shard % 3 == 0:
                    checksum += trainer.audit.inspect(shard, block, losses)
    print(f"{checksum:.3f}")


main()
