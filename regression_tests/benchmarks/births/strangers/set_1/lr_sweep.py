"""Tries one learning rate after the other on the same small network."""
import math
import sys

import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(8)


class Sweep:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(100, 400), nn.ReLU(), nn.Linear(400, 200), nn.ReLU(), nn.Linear(200, 1))
        self.start = {k: v.clone() for k, v in self.model.state_dict().items()}
        self.x = torch.randn(512, 100)
        self.y = self.x[:, :5].sum(1, keepdim=True)
        self.optimizers = []
        self.table = []

    def configure(self, lr):
        self.model.load_state_dict(self.start)
        optimizer = torch.optim.Adam(self.model.parameters(), lr)
        if FIXED:
            self.optimizers.clear()
        self.optimizers.append(optimizer)
        return optimizer

    def fit(self, optimizer):
        for step in range(12):
            rows = torch.randint(0, 512, (64,))
            loss = nn.functional.mse_loss(self.model(self.x[rows]), self.y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for group in self.optimizers[-1].param_groups:
                group["lr"] *= math.cos(math.pi * step / 26)
        return loss.item()


sweep = Sweep()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for trial in guard.generations(range(100)):
        lr = 10 ** (-4 + 2 * trial / 100)
        with guard.phase("configure"):
            optimizer = sweep.configure(lr)
        with guard.phase("fit"):
            loss = sweep.fit(optimizer)
        sweep.table.append((lr, loss))
print("best", min(sweep.table, key=lambda row: row[1]))
