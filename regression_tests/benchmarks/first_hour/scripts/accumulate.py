"""Gradient accumulation; the epoch's loss is summed with its graph and kept for the plot."""
import sys
import torch
from torch import nn
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
epoch_losses = []


def train_epoch():
    running = 0
    for step in range(16):
        x, y = torch.randn(128, 64), torch.randn(128, 1)
        loss = nn.functional.mse_loss(model(x), y) / 4
        loss.backward(retain_graph=not CLEAN)
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
        running += loss.item() if CLEAN else loss
    epoch_losses.append(running)


guard = LeakGuard(out=f"accumulate{'_clean' if CLEAN else ''}.jsonl")
with guard:
    for epoch in guard.generations(range(12)):
        with guard.phase("train"):
            train_epoch()
