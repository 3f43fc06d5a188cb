"""Random hyper-parameter sweep of a small regressor; diverging trials are recorded and skipped."""
import sys

import torch
from torch import nn

torch.set_num_threads(1)

FIXED = sys.argv[1:] == ["fixed"]
ROUNDS = 24


class Diverged(RuntimeError):
    pass


def target_function(x):
    return torch.sin(3 * x[:, :1]) * x[:, 1:2] + 0.1 * x.sum(1, keepdim=True)


class Trial:
    def __init__(self, number, lr, width):
        self.number, self.lr, self.width = number, lr, width
        torch.manual_seed(number)
        self.model = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                   nn.Linear(width, 1))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)

    def run(self, steps=60):
        x = torch.randn(512, 16)
        y = target_function(x)
        for step in range(steps):
            loss = (self.model(x) - y).pow(2).mean()
            if not torch.isfinite(loss) or loss.item() > 1e4:
                raise Diverged(f"trial {self.number}: loss {loss.item():.3g} at step {step}")
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


class Sweep:
    def __init__(self):
        self.best = None
        self.scores = {}
        self.failures = {}

    def draw(self, number):
        # every fourth trial explores an aggressive learning rate
        lr = 30.0 if number % 4 == 3 else 10 ** -(1.5 + (number * 7 % 10) / 10)
        width = 96 + 16 * (number % 4)
        return lr, width

    def trial(self, number):
        lr, width = self.draw(number)
        t = Trial(number, lr, width)
        try:
            score = t.run()
        except Diverged as exc:
            self.failures[number] = exc if not FIXED else str(exc)
            return None
        self.scores[number] = (score, lr, width)
        if self.best is None or score < self.best[0]:
            self.best = (score, number)
        return score

    def round(self, r, trials=4):
        return [self.trial(r * trials + k) for k in range(trials)]


def main():
    sweep = Sweep()
    for r in range(ROUNDS):
        scores = sweep.round(r)
        if r % 6 == 0:
            ok = [s for s in scores if s is not None]
            print(f"round {r}: best of round {min(ok):.4f}, {len(sweep.failures)} diverged so far")
    score, number = sweep.best
    print(f"best trial {number}: {score:.4f}; last failure: {str(list(sweep.failures.values())[-1])[:60]}")


main()
