"""Continual learning: one trunk for all tasks, a fresh head for each of them."""
import sys
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
TASKS = 18
FEATURES = 256
torch.set_num_threads(1)


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, FEATURES), nn.ReLU(), nn.Linear(FEATURES, FEATURES))

    def forward(self, x):
        return F.relu(self.layers(x))


class Head(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.linear = nn.Linear(FEATURES, classes)

    def forward(self, features):
        return self.linear(features)


class Task:
    def __init__(self, number):
        rng = torch.Generator().manual_seed(number)
        self.number = number
        self.x = torch.randn(640, 64, generator=rng)
        self.y = (self.x @ torch.randn(64, 300, generator=rng)).argmax(1)

    def batches(self, size=64):
        yield from zip(self.x.split(size), self.y.split(size))


class Rehearsal:
    """Inputs of the last tasks, to see how much the trunk drifts."""

    def __init__(self, tasks=5):
        self.inputs = deque(maxlen=tasks)

    def remember(self, x):
        self.inputs.append(x[:200].clone())

    def norm(self, trunk):
        with torch.no_grad():
            return sum(float(trunk(x).norm()) for x in self.inputs) / max(len(self.inputs), 1)


class Session:
    """Owns the trunk and the optimizer of everything that is trained."""

    def __init__(self):
        self.trunk = Trunk()
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=1e-3)

    def open_head(self, head):
        self.optimizer.add_param_group({"params": list(head.parameters()), "lr": 3e-3})

    def close_head(self):
        group = self.optimizer.param_groups.pop()
        for parameter in group["params"]:
            self.optimizer.state.pop(parameter, None)

    def step(self, head, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(head(self.trunk(x)), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def learn_task(session, task):
    head = Head(300)
    session.open_head(head)
    losses = []
    for _ in range(2):
        losses.extend(session.step(head, x, y) for x, y in task.batches())
    if MODE == "fixed":
        session.close_head()
    return losses[0], losses[-1]


def main():
    torch.manual_seed(1)
    session, rehearsal = Session(), Rehearsal()
    for number in range(TASKS):
        task = Task(number)
        first, last = learn_task(session, task)
        rehearsal.remember(task.x)
        drift = rehearsal.norm(session.trunk)
        if number % 6 == 0:
            print(f"task {number}: loss {first:.3f} -> {last:.3f}, norm {drift:.1f}")


if __name__ == "__main__":
    main()
