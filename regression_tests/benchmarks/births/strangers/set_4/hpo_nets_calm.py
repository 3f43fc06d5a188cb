"""A random search over small regression nets with early stopping against the best trial so far."""
import bisect
import dataclasses
import random

import torch
from torch import nn


@dataclasses.dataclass
class Space:
    width: int
    lr: float
    dropout: float


class Study:
    def __init__(self, x, y, seed=9):
        self.x, self.y = x, y
        self.rng = random.Random(seed)
        self.best = float("inf")
        self.listeners = []
        self.leaders = []    # the eight best trials, for the ensemble at the end

    def suggest(self):
        return Space(width=self.rng.choice([96, 128, 160, 192]), lr=10 ** self.rng.uniform(-3.3, -2.2), dropout=self.rng.choice([0.0, 0.1]))

    def on_best(self, listener):
        self.listeners.append(listener)

    def off_best(self, listener):
        self.listeners.remove(listener)

    def keep(self, value, trial):
        bisect.insort(self.leaders, (value, trial.number, trial))
        del self.leaders[8:]

    def report(self, number, value):
        if value < self.best:
            self.best = value
            for listener in self.listeners:
                listener(number, value)


class Trial:
    def __init__(self, study, number):
        self.study, self.number = study, number
        self.params = study.suggest()
        p = self.params
        self.net = nn.Sequential(
            nn.Linear(16, p.width), nn.ReLU(), nn.Dropout(p.dropout), nn.Linear(p.width, p.width), nn.ReLU(), nn.Linear(p.width, 1)
        )
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=p.lr)
        self.bar = study.best
        study.on_best(self.lower_bar)

    def lower_bar(self, number, value):
        self.bar = value

    def run(self, epochs=12):
        x, y = self.study.x, self.study.y
        value = float("inf")
        for epoch in range(epochs):
            self.net.train()
            for i in range(0, 1024, 256):
                loss = nn.functional.mse_loss(self.net(x[i:i + 256]).squeeze(1), y[i:i + 256])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            self.net.eval()
            with torch.no_grad():
                value = float(nn.functional.mse_loss(self.net(x[1024:]).squeeze(1), y[1024:]))
            if epoch >= 8 and value > 4 * self.bar:
                break
        return value


def run_trial(study, number):
    trial = Trial(study, number)
    value = trial.run()
    study.report(number, value)
    study.off_best(trial.lower_bar)
    study.keep(value, trial)
    return value


def main():
    torch.manual_seed(2)
    x = torch.randn(1536, 16)
    y = torch.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(1536)
    study = Study(x, y)
    values = torch.zeros(45)
    for number in range(45):
        values[number] = run_trial(study, number)
    with torch.no_grad():
        joint = sum(t.net(x[1024:]) for _, _, t in study.leaders).squeeze(1) / len(study.leaders)
    print(f"joint {float(nn.functional.mse_loss(joint, y[1024:])):.4f}")
    print(f"best {study.best:.4f} median {values.median():.4f}")


if __name__ == "__main__":
    main()
