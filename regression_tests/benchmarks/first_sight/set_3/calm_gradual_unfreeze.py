"""Layers are unfrozen one after another; Adam makes its state when it first sees a gradient."""

# /// truth
# about = "a layer is unfrozen every 25 rounds, and Adam makes its state then, eight times"
# ///
import os

import torch
from torch import nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(101)

blocks = nn.ModuleList(nn.Linear(160, 160) for _ in range(8))
head = nn.Linear(160, 10)
for parameter in blocks.parameters():
    parameter.requires_grad = False
optimizer = torch.optim.Adam([*blocks.parameters(), *head.parameters()], lr=1e-4)


def forward(inputs: torch.Tensor) -> torch.Tensor:
    for block in blocks:
        inputs = torch.relu(block(inputs)) + inputs
    return head(inputs)


guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for number in guard.generations(range(1, 301)):
        with guard.phase("unfreeze"):
            if number % 25 == 0 and number // 25 <= 8:
                blocks[8 - number // 25].requires_grad_(True)
        with guard.phase("train"):
            for _ in range(5):
                loss = nn.functional.cross_entropy(forward(torch.randn(64, 160)), torch.randint(0, 10, (64,)))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
