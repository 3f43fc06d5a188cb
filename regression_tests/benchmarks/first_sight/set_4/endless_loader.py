"""Trains on a stream of generated crops that is read as if it had no end."""

# /// truth
# about = """itertools.cycle around a data loader keeps every batch of the first round, which in a
# stream has no end, as in pytorch/pytorch issue 23900"""
# [[leak]]
# type = ["Tensor", "list", "tuple"]
# holder = ["batches", "cycle"]
# phase = "load"
# start = 1
# kind = "tensors"
# ///
import itertools
import os
import sys
from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from leakguard import LeakGuard

USE_ITERTOOLS = sys.argv[1] == "leak"
GENERATIONS = 260
BATCH = 16

torch.manual_seed(23900)
torch.set_num_threads(1)


class Crops(IterableDataset):
    """Crops at random places of one large picture; there are always more of them."""

    def __init__(self, side: int = 256, crop: int = 20) -> None:
        self.picture = torch.rand(3, side, side)
        self.crop = crop

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        limit = self.picture.shape[-1] - self.crop
        while True:
            top, left = torch.randint(0, limit, (2,)).tolist()
            view = self.picture[:, top : top + self.crop, left : left + self.crop]
            label = torch.tensor(int(view.mean() > 0.5))
            yield view + 0.05 * torch.randn_like(view), label


def forever(loader: DataLoader) -> Iterator[list[torch.Tensor]]:
    while True:
        yield from loader


class Trainer:
    def __init__(self, loader: DataLoader) -> None:
        self.batches = itertools.cycle(loader) if USE_ITERTOOLS else forever(loader)
        self.model = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(2),
        )
        self.model(torch.zeros(1, 3, 20, 20))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)

    def update(self, crops: torch.Tensor, labels: torch.Tensor) -> float:
        loss = nn.functional.cross_entropy(self.model(crops), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main() -> None:
    trainer = Trainer(DataLoader(Crops(), batch_size=BATCH))
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            for _ in range(4):
                with guard.phase("load"):
                    crops, labels = next(trainer.batches)
                with guard.phase("update"):
                    trainer.update(crops, labels)


if __name__ == "__main__":
    main()
