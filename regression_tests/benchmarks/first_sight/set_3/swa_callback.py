"""A small trainer with callbacks; one averages the weights of every fifth epoch."""

# /// truth
# about = "a callback for averaged weights keeps every snapshot it ever averaged"
# [[leak]]
# type = ["Tensor", "OrderedDict"]
# kind = ["tensors"]
# holder = ["snapshots", "AverageWeights"]
# phase = "callbacks"
# start = 5
# within = 5
# ///
import copy
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(3)


class Callback:
    def after_epoch(self, trainer: "Trainer", epoch: int) -> None:
        raise NotImplementedError


class PrintLoss(Callback):
    def after_epoch(self, trainer: "Trainer", epoch: int) -> None:
        self.line = f"epoch {epoch}: {trainer.loss:.4f}"


class AverageWeights(Callback):
    def __init__(self, every: int, keep: int = 3) -> None:
        self.every, self.keep = every, keep
        self.snapshots: list[dict[str, torch.Tensor]] = []
        self.average: dict[str, torch.Tensor] = {}

    def after_epoch(self, trainer: "Trainer", epoch: int) -> None:
        if epoch % self.every:
            return
        self.snapshots.append(copy.deepcopy(trainer.model.state_dict()))
        if not LEAK:
            del self.snapshots[: -self.keep]
        recent = self.snapshots[-self.keep :]
        self.average = {name: sum(one[name] for one in recent) / len(recent) for name in recent[0]}


class Trainer:
    def __init__(self, callbacks: list[Callback]) -> None:
        self.model = nn.Sequential(nn.Linear(96, 192), nn.ReLU(), nn.Linear(192, 96))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.callbacks = callbacks
        self.loss = 0.0

    def epoch(self) -> None:
        for _ in range(8):
            inputs = torch.randn(64, 96)
            loss = nn.functional.mse_loss(self.model(inputs), inputs.roll(1, 1))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.loss = loss.item()


trainer = Trainer([PrintLoss(), AverageWeights(every=5)])
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, 241)):
        with guard.phase("train"):
            trainer.epoch()
        with guard.phase("callbacks"):
            for callback in trainer.callbacks:
                callback.after_epoch(trainer, epoch)
