"""Continual learning: one shared trunk, a fresh classification head for every task."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(21)

MODE = sys.argv[1]
TASKS = 36
CLASSES = 40
FEATURES = 256


def make_task(task_id, n=384):
    g = torch.Generator().manual_seed(1000 + task_id)
    centers = torch.randn(CLASSES, 64, generator=g)
    labels = torch.randint(0, CLASSES, (n,), generator=g)
    return centers[labels] + 0.3 * torch.randn(n, 64, generator=g), labels


class Learner:
    def __init__(self):
        self.trunk = nn.Sequential(nn.Linear(64, FEATURES), nn.ReLU(), nn.Linear(FEATURES, FEATURES), nn.ReLU())
        self.head = None
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=1e-3)
        self.accuracies = []
        self.rehearsal = []          # a few samples of the recent tasks
        self.rehearsal_limit = 12

    def start_task(self):
        """Swap in a new head and make the optimizer train it."""
        if self.head is not None and MODE == "fixed":
            self.drop_head_parameters()
        self.head = nn.Linear(FEATURES, CLASSES)
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 3e-3})

    def drop_head_parameters(self):
        stale = self.optimizer.param_groups.pop()
        for p in stale["params"]:
            self.optimizer.state.pop(p, None)

    def train_task(self, x, y, epochs=8, batch=64):
        for _ in range(epochs):
            order = torch.randperm(len(x))
            for start in range(0, len(x), batch):
                idx = order[start:start + batch]
                loss = F.cross_entropy(self.head(self.trunk(x[idx])), y[idx])
                self.optimizer.zero_grad(set_to_none=False)
                loss.backward()
                self.optimizer.step()

    def rehearse(self, x):
        self.rehearsal.append(x[:32].clone())
        if len(self.rehearsal) > self.rehearsal_limit:
            self.rehearsal.pop(0)
        with torch.no_grad():
            return torch.stack([self.trunk(s).norm(dim=1).mean() for s in self.rehearsal]).mean().item()

    @torch.no_grad()
    def test(self, x, y):
        acc = (self.head(self.trunk(x)).argmax(1) == y).float().mean().item()
        self.accuracies.append(acc)
        return acc


def run_task(learner, task_id):
    x, y = make_task(task_id)
    learner.start_task()
    learner.train_task(x[:320], y[:320])
    drift = learner.rehearse(x)
    return learner.test(x[320:], y[320:]), drift


if __name__ == "__main__":
    learner = Learner()
    for task_id in range(TASKS):
        acc, drift = run_task(learner, task_id)
        if task_id % 9 == 0:
            print(f"task {task_id}: accuracy {acc:.2f} feature norm {drift:.2f}")
    print(f"mean accuracy {sum(learner.accuracies) / TASKS:.3f}")
