"""A classifier whose validation gathers the outputs of its steps, of a few large epochs."""

# /// truth
# about = "the outputs of validation steps are gathered and never cleared: 20 MB an epoch, 14 epochs"
# [[leak]]
# type = ["Tensor", "list"]
# kind = ["tensors"]
# holder = ["outputs", "Classifier"]
# phase = "validate"
# start = 1
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(30)


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 500))
        self.outputs: list[torch.Tensor] = []

    def training_step(self) -> torch.Tensor:
        logits = self.net(torch.randn(512, 64))
        return nn.functional.cross_entropy(logits, torch.randint(0, 500, (512,)))

    def validation_step(self) -> None:
        with torch.no_grad():
            self.outputs.append(self.net(torch.randn(1_000, 64)))

    def on_validation_epoch_end(self) -> float:
        share = torch.cat(self.outputs[-10:]).argmax(1).float().mean().item()
        if not LEAK:
            self.outputs.clear()
        return share


model = Classifier()
optimizer = torch.optim.Adam(model.parameters())
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, 15)):
        with guard.phase("train"):
            for _ in range(10):
                optimizer.zero_grad()
                model.training_step().backward()
                optimizer.step()
        with guard.phase("validate"):
            for _ in range(10):
                model.validation_step()
            model.on_validation_epoch_end()
