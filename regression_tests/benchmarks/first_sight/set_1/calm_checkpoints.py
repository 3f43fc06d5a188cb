"""An autoencoder that keeps its last three checkpoints in memory and the best one besides."""
# /// truth
# about = "rotating checkpoints every eighth epoch, at most three and the best one"
# ///
import io
import os
import sys
from collections import deque

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 120
torch.manual_seed(5)
torch.set_num_threads(1)


class Waves(Dataset):
    def __init__(self):
        self.phases = torch.rand(1200, 1) * 6

    def __len__(self):
        return len(self.phases)

    def __getitem__(self, index):
        return torch.sin(self.phases[index] + torch.arange(128) / 10)


class Checkpoints:
    def __init__(self):
        self.recent = deque(maxlen=3)
        self.best = None
        self.best_loss = float("inf")

    def save(self, model, optimizer, loss):
        file = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        self.recent.append(file.getvalue())
        if loss < self.best_loss:
            self.best, self.best_loss = file.getvalue(), loss


model = nn.Sequential(nn.Linear(128, 160), nn.GELU(), nn.Linear(160, 12), nn.Linear(12, 160), nn.GELU(), nn.Linear(160, 128))
optimizer = torch.optim.Adam(model.parameters(), 2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
loader = DataLoader(Waves(), batch_size=64, shuffle=True)
checkpoints = Checkpoints()

guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("train"):
            total = 0.0
            for batch in loader:
                loss = (model(batch) - batch).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            scheduler.step()
        with guard.phase("checkpoint"):
            if epoch % 8 == 0:
                checkpoints.save(model, optimizer, total)
