"""A batch size that doubles every 25 rounds until it reaches its ceiling."""

# /// truth
# about = "a batch size that doubles every 25 rounds, with its buffers, up to a ceiling at round 150"
# ///
import os

import torch
from torch import nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(81)


class Prefetch:
    """Keeps four batches ready."""

    def __init__(self, size: int) -> None:
        self.batches = [torch.randn(size, 64) for _ in range(4)]
        self.place = 0

    def next(self) -> torch.Tensor:
        self.batches[self.place] = torch.randn_like(self.batches[self.place])
        self.place = (self.place + 1) % 4
        return self.batches[self.place]


model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
size = 32
prefetch = Prefetch(size)
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for number in guard.generations(range(1, 241)):
        if number % 25 == 0 and size < 2_048:
            size *= 2
            prefetch = Prefetch(size)
        with guard.phase("fetch"):
            batch = prefetch.next()
        with guard.phase("train"):
            for part in batch.split(256):
                loss = nn.functional.mse_loss(model(part), part)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
