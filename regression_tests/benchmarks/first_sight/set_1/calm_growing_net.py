"""Progressive training: the network gets a further block every ten epochs, six in all."""
# /// truth
# about = "a network that grows to its full depth in the first half of the run"
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard, phase

assert sys.argv[1] == "clean"
GENERATIONS = 140
torch.manual_seed(9)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x):
        return x + 0.1 * self.second(torch.relu(self.first(x)))


class Growing(nn.Module):
    def __init__(self, width=160):
        super().__init__()
        self.width = width
        self.blocks = nn.ModuleList([Block(width)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x)


model = Growing()
optimizer = torch.optim.RMSprop(model.parameters(), 1e-4, momentum=0.9)
weights = torch.randn(160, 1)


@phase("grow")
def grow(epoch):
    if epoch % 10 == 0 and len(model.blocks) < 6:
        block = Block(model.width)
        model.blocks.append(block)
        optimizer.add_param_group({"params": list(block.parameters())})


@phase("train")
def train():
    for _ in range(5):
        x = torch.randn(128, 160)
        loss = (model(x) - torch.sin(x @ weights)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@phase("validate")
def validate():
    with torch.no_grad():
        x = torch.randn(256, 160)
        return (model(x) - torch.sin(x @ weights)).square().mean().item()


guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, GENERATIONS + 1)):
        grow(epoch)
        train()
        validate()
