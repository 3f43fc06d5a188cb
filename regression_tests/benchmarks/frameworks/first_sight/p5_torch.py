"""A GRU that predicts a noisy sine, with a validation in each epoch; a meter keeps the running loss."""
import sys

import torch
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(11)


class Meter:
    def __init__(self):
        self.average = torch.zeros(())

    def update(self, value):
        if MODE == "clean":
            value = value.detach()
        self.average = 0.9 * self.average + 0.1 * value


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        hidden, _ = self.gru(x)
        return self.head(hidden[:, -1])


def batch(rows):
    start = torch.rand(rows, 1) * 6.28
    t = start + torch.arange(25) * 0.2
    wave = torch.sin(t) + 0.05 * torch.randn_like(t)
    return wave[:, :24, None], wave[:, 24:]


def validate(model, meter):
    x, y = batch(64)
    loss = nn.functional.mse_loss(model(x), y)
    meter.update(loss)
    return loss.item()


def main():
    model, meter = Forecaster(), Meter()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    best, weights = float("inf"), None
    guard = LeakGuard(out=f"runs/first_sight/p5-{MODE}.jsonl")
    with guard:
        for epoch in guard.generations(range(1, 31)):
            with guard.phase("train"):
                for _ in range(25):
                    x, y = batch(64)
                    optimizer.zero_grad()
                    nn.functional.mse_loss(model(x), y).backward()
                    optimizer.step()
            with guard.phase("validate"):
                value = validate(model, meter)
            if value < best:
                best, weights = value, {k: v.clone() for k, v in model.state_dict().items()}
    print("RESULT", best, meter.average.item(), float(sum(w.double().sum() for w in weights.values())))


main()
