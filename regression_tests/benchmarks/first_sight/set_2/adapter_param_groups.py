"""Continual learning: a frozen body, and for each task a fresh low-rank adapter that is trained and replaced.
One Adam for all of it; the adapter's parameters join it when a task begins."""

# /// truth
# about = "an optimizer gets a parameter group for every new adapter and never loses one"
# [[leak]]
# type = ["Parameter", "Tensor"]
# holder = "param_groups"
# phase = ["new_task", "train"]
# start = 2
# within = 3
# kind = ["tensors", "container"]
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(0)
WIDTH, RANK = 192, 8


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(WIDTH, WIDTH)
        self.body.requires_grad_(False)
        self.head = nn.Linear(WIDTH, 1)
        self.down = self.up = None

    def fresh_adapter(self):
        self.down = nn.Parameter(torch.randn(WIDTH, RANK) * 0.05)
        self.up = nn.Parameter(torch.zeros(RANK, WIDTH))
        return [self.down, self.up]

    def forward(self, inputs):
        return self.head(torch.tanh(self.body(inputs) + inputs @ self.down @ self.up))


def begin_task(model, optimizer):
    if not LEAK:
        for group in optimizer.param_groups[1:]:
            for parameter in group["params"]:
                optimizer.state.pop(parameter, None)
        del optimizer.param_groups[1:]
    optimizer.add_param_group({"params": model.fresh_adapter(), "lr": 3e-3})


def main():
    model = Adapted()
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)
    score = 0.0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for task in guard.generations(range(1, 201)):
            with guard.phase("new_task"):
                begin_task(model, optimizer)
                direction = torch.randn(WIDTH, 1)
            with guard.phase("train"):
                for _ in range(12):
                    inputs = torch.randn(32, WIDTH)
                    loss = nn.functional.mse_loss(model(inputs), torch.tanh(inputs @ direction))
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            with guard.phase("evaluate"), torch.no_grad():
                inputs = torch.randn(128, WIDTH)
                score += nn.functional.mse_loss(model(inputs), torch.tanh(inputs @ direction)).item()
    print("mean error", round(score / 200, 3))


main()
