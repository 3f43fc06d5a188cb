"""Contrastive training with a bank of features per shard and reports at the end."""
import sys
from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
EPOCHS = 20
SHARDS = 4
END_REPORTS = []
torch.set_num_threads(1)


def at_end(report):
    """Reports that are printed when training is over."""
    END_REPORTS.append(report)


class FeatureBank:
    """Features of augmented shards, shared by all users."""

    rows = defaultdict(list)

    @classmethod
    def put(cls, key, features):
        cls.rows[key].append(features)

    @classmethod
    def get(cls, key):
        return torch.cat(cls.rows[key])

    @classmethod
    def drop_epoch(cls, epoch):
        for key in [key for key in cls.rows if key[0] == epoch]:
            del cls.rows[key]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(96, 256), nn.GELU(), nn.Linear(256, 1024))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class Augmenter:
    """Keeps one permutation per offset; there are only a few offsets."""

    def __init__(self):
        self.permutations = {}

    def __call__(self, x, epoch):
        offset = epoch % 7
        if offset not in self.permutations:
            self.permutations[offset] = torch.randperm(20_000)
        order = self.permutations[offset] % x.shape[1]
        return x[:, order[: x.shape[1]]] + 0.05 * torch.randn_like(x)


def loss_summary(epoch, losses):
    def report():
        return f"epoch {epoch}: mean {sum(losses) / len(losses):.3f}, worst {max(losses):.3f}"
    return report


class Trainer:
    def __init__(self):
        self.encoder = Encoder()
        self.optimizer = torch.optim.AdamW(self.encoder.parameters(), lr=1e-3)
        self.augment = Augmenter()
        self.shards = [torch.randn(192, 96) for _ in range(SHARDS)]

    def embed(self, epoch):
        with torch.no_grad():
            for number, shard in enumerate(self.shards):
                features = self.encoder(self.augment(shard, epoch))
                FeatureBank.put((epoch, number), features)

    def contrast(self, epoch):
        for number, shard in enumerate(self.shards):
            self.optimizer.zero_grad()
            scores = self.encoder(shard) @ FeatureBank.get((epoch, number)).T
            F.cross_entropy(scores * 10.0, torch.arange(len(shard))).backward()
            self.optimizer.step()

    def summarise(self, epoch):
        losses = []
        with torch.no_grad():
            for shard in self.shards:
                scores = self.encoder(shard) @ self.encoder(shard + 0.1).T
                for row in scores.split(1):
                    losses.extend(row[0, :5].tolist())
        if MODE == "leak":
            at_end(loss_summary(epoch, losses))
        else:
            text = loss_summary(epoch, losses)()
            at_end(lambda: text)


def main():
    torch.manual_seed(8)
    trainer = Trainer()
    for epoch in range(EPOCHS):
        trainer.embed(epoch)
        trainer.contrast(epoch)
        trainer.summarise(epoch)
        if MODE == "fixed":
            FeatureBank.drop_epoch(epoch)
    for report in END_REPORTS[::7]:
        print(report())


if __name__ == "__main__":
    main()
