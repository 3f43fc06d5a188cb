"""Warm restarts: a new optimizer and scheduler every cycle; the schedulers are kept to plot the learning rate."""
import sys
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from leakguard import LeakGuard, expect_freed

CLEAN = "clean" in sys.argv


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(100, 400), nn.ReLU(), nn.Linear(400, 100))
        self.schedulers = []
        self.lr_curve = []
        self.opt = None

    def restart(self):
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        scheduler = CosineAnnealingLR(self.opt, 10)
        if CLEAN:
            self.schedulers = [scheduler]
        else:
            self.schedulers.append(scheduler)
        return scheduler

    def cycle(self, x):
        scheduler = self.restart()
        for _ in range(10):
            self.opt.zero_grad()
            loss = (self.model(x) - x).pow(2).mean()
            loss.backward()
            self.opt.step()
            scheduler.step()
            self.lr_curve.append(scheduler.get_last_lr()[0])
        return loss.item()


def main():
    t, x = Trainer(), torch.randn(256, 100)
    guard = LeakGuard(watch={torch.optim.Adam: 1}, out=f"s19.{'clean' if CLEAN else 'leaky'}.jsonl")
    with guard:
        for cycle in guard.generations(range(1, 31)):
            with guard.phase("cycle"):
                old = t.opt
                loss = t.cycle(x)
                if old is not None:
                    expect_freed(old, "replaced by the restart")
                    del old
    print(loss)


main()
