"""A training with torch that keeps its losses with their graphs, or as numbers."""

import sys
import time

import torch

torch.set_num_threads(1)


class Trainer:
    def __init__(self):
        self.model = torch.nn.Sequential(
            torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
        )
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.losses = []

    def step(self):
        batch = torch.randn(64, 32)
        loss = self.model(batch).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss if sys.argv[1] == "leak" else loss.item())
        del self.losses[: 0 if sys.argv[1] == "leak" else -100]


def main():
    trainer = Trainer()
    while True:
        trainer.step()
        time.sleep(0.01)


main()
