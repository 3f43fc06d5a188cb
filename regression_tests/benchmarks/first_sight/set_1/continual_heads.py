"""Continual learning: one body, a new head for each task, one optimizer for all."""
# /// truth
# about = "the heads of finished tasks stay in the optimizer with their momentum"
# [[leak]]
# type = ["Parameter", "Tensor"]
# holder = "param_groups"
# phase = ["new_task", "fit"]
# start = 31
# within = 2
# kind = "tensors"
# ///
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 110
FIRST_SWITCH = 31
torch.manual_seed(8)
torch.set_num_threads(1)


class Learner:
    def __init__(self):
        self.body = nn.Sequential(nn.Linear(48, 128), nn.ReLU())
        self.head = nn.Linear(128, 60)
        self.optimizer = torch.optim.Adam(
            [{"params": list(self.body.parameters())}, {"params": list(self.head.parameters())}], lr=1e-3
        )

    def new_task(self):
        old = list(self.head.parameters())
        self.head = nn.Linear(128, 60)
        if not LEAK:
            self.optimizer.param_groups.pop()
            for parameter in old:
                self.optimizer.state.pop(parameter, None)
        self.optimizer.add_param_group({"params": list(self.head.parameters())})

    def fit(self, task, steps=32):
        weights = torch.randn(48, 60, generator=torch.Generator().manual_seed(task))
        for _ in range(steps):
            x = torch.randn(128, 48)
            y = (x @ weights).argmax(1)
            loss = F.cross_entropy(self.head(self.body(x)), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


learner = Learner()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    task = 0
    for generation in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("new_task"):
            if generation >= FIRST_SWITCH:
                task += 1
                learner.new_task()
        with guard.phase("fit"):
            learner.fit(task)
