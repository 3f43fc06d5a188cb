"""Trains on a DataLoader; each epoch draws a fresh synthetic data set."""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(12)


class EpochSource:
    """Makes the batches of one epoch and stops at a budget of steps."""

    def __init__(self, budget=12):
        self.budget = budget
        self.running = []

    def start(self, epoch):
        x = torch.randn(1000, 60) + epoch / 100
        y = x[:, :3].sum(1, keepdim=True)
        loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
        batches = iter(loader)
        if FIXED:
            self.running = []
        self.running.append(zip(range(self.budget), batches))
        return self.running[-1]


class Fitter:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(60, 100), nn.ReLU(), nn.Linear(100, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01)
        self.source = EpochSource()
        self.losses = []

    def epoch(self, number):
        for _, (x, y) in self.source.start(number):
            loss = nn.functional.mse_loss(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.losses.append(loss.item())


def main():
    fitter = Fitter()
    for number in range(200):
        fitter.epoch(number)
    print("first", round(fitter.losses[0], 3), "last", round(fitter.losses[-1], 3))


main()
