"""A classifier whose dead neurons are counted now and then by a forward hook."""
# /// truth
# about = "every fifth epoch hooks a probe into the network and never takes it out"
# [[leak]]
# type = "ActivationProbe"
# holder = "_forward_hooks"
# phase = ["diagnose", "train"]
# start = 5
# within = 5
# kind = ["instances", "tensors"]
# ///
import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 160


class ActivationProbe:
    def __init__(self):
        self.last = None

    def __call__(self, module, inputs, output):
        self.last = output.detach().clone()

    def dead(self):
        return float((self.last <= 0).all(0).float().mean())


def diagnose(model, batch):
    probe = ActivationProbe()
    handle = model[1].register_forward_hook(probe)
    with torch.no_grad():
        model(batch)
    share = probe.dead()
    if not LEAK:
        handle.remove()
    return share


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    images = torch.randn(3072, 64)
    labels = (images[:, :8].sum(1) > 0).long()
    loader = DataLoader(TensorDataset(images, labels), batch_size=256, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 2))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    criterion = nn.CrossEntropyLoss()
    guard = LeakGuard(out=os.environ["RUN_FILE"], watch={ActivationProbe: (0, 1)})
    dead = 0.0
    with guard:
        for epoch in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("train"):
                for x, y in loader:
                    optimizer.zero_grad(set_to_none=True)
                    criterion(model(x), y).backward()
                    optimizer.step()
            if epoch % 5 == 0:
                with guard.phase("diagnose"):
                    dead = diagnose(model, images[:256])
    return dead


main()
