"""Distillation of a small net; each evaluation looks at the activations of the middle layer through a hook."""

# /// truth
# about = "forward hooks that are registered by each evaluation and never removed"
# [[leak]]
# type = ["ActivationProbe", "Tensor"]
# holder = "_forward_hooks"
# phase = "evaluate"
# start = 1
# within = 3
# kind = ["instances", "tensors"]
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(9)


class ActivationProbe:
    """Keeps a sample of what a layer puts out, for the share of dead units."""

    def __init__(self, layer, rows=96):
        self.sample = torch.zeros(rows, layer.out_features)
        self.filled = 0
        self.handle = layer.register_forward_hook(self.look)

    def look(self, module, inputs, output):
        free = len(self.sample) - self.filled
        if free > 0 and not torch.is_grad_enabled():
            taken = output[:free]
            self.sample[self.filled : self.filled + len(taken)] = taken
            self.filled += len(taken)

    def dead_units(self):
        return (self.sample[: self.filled] <= 0).all(0).float().mean().item()

    def close(self):
        self.handle.remove()


teacher = nn.Sequential(nn.Linear(40, 256), nn.ReLU(), nn.Linear(256, 10))
student = nn.Sequential(nn.Linear(40, 160), nn.ReLU(), nn.Linear(160, 160), nn.ReLU(), nn.Linear(160, 10))
optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)


@phase("distill")
def distill(steps=14):
    for _ in range(steps):
        inputs = torch.randn(64, 40)
        with torch.no_grad():
            wanted = teacher(inputs).softmax(-1)
        loss = nn.functional.kl_div(student(inputs).log_softmax(-1), wanted, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@phase("evaluate")
@torch.no_grad()
def evaluate():
    probe = ActivationProbe(student[2])
    agreement = 0.0
    for _ in range(4):
        inputs = torch.randn(32, 40)
        agreement += (student(inputs).argmax(-1) == teacher(inputs).argmax(-1)).float().mean().item() / 4
    dead = probe.dead_units()
    if not LEAK:
        probe.close()
    return agreement, dead


guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, 121)):
        loss = distill()
        agreement, dead = evaluate()
        if epoch % 40 == 0:
            print(epoch, round(loss, 4), round(agreement, 3), round(dead, 3))
