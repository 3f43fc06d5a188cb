"""Trains a small classifier; validates and checkpoints in each epoch."""
import sys
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 256)
        self.fc2 = nn.Linear(256, 10)

    def forward(self, x):
        hidden = F.relu(self.fc1(x))
        return self.fc2(hidden)


class Trainer:
    def __init__(self):
        self.net = Net()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.val_losses = []
        self.checkpoints = [] if LEAK else deque(maxlen=3)

    def train_epoch(self):
        sums = torch.zeros(20_000)

        def watch(module, args, output):
            sums[:256] += output.detach().mean(dim=0)

        handle = self.net.fc1.register_forward_hook(watch)
        for _ in range(60):
            x, y = torch.randn(256, 64), torch.randint(10, (256,))
            loss = F.cross_entropy(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        if not LEAK:
            handle.remove()

    def validate(self):
        for _ in range(2):
            x, y = torch.randn(256, 64), torch.randint(10, (256,))
            loss = F.cross_entropy(self.net(x), y)
            self.val_losses.append(loss if LEAK else loss.item())

    def checkpoint(self):
        self.checkpoints.append({name: p.detach().clone() for name, p in self.net.named_parameters()})


def main():
    trainer = Trainer()
    with LeakGuard(out=sys.argv[2]) as guard:
        for epoch in guard.generations(range(25)):
            with guard.phase("train"):
                trainer.train_epoch()
            with guard.phase("validate"):
                trainer.validate()
            with guard.phase("checkpoint"):
                trainer.checkpoint()


main()
