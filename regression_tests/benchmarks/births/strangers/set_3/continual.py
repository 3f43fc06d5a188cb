"""Continual learning: a new head for every task, drift probes and distillation from a snapshot."""
import sys
from collections import deque

import torch
from torch import nn
from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
TASKS = 26
WIDTH = 256
CLASSES = 96
DISTIL_FROM = 8


class Snapshot:
    """Frozen weights; knows the one before to measure how far a task has moved them."""

    __slots__ = ("task", "weights", "previous")

    def __init__(self, task, weights, previous):
        self.task = task
        self.weights = weights
        self.previous = previous

    def moved(self):
        if self.previous is None:
            return 0.0
        pairs = zip(self.weights, self.previous.weights)
        return float(sum((new - old).norm() for new, old in pairs))


class Learner:
    def __init__(self):
        self.backbone = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.head = None
        self.optimizer = torch.optim.Adam(self.backbone.parameters(), lr=1e-3)
        self.snapshot = None
        self.replay = deque(maxlen=6)           # a reservoir of old tasks
        self.drift = 0.0

    def new_head(self):
        if FIXED and self.head is not None:
            group = self.optimizer.param_groups.pop()
            for parameter in group["params"]:
                self.optimizer.state.pop(parameter, None)
        self.head = nn.Linear(WIDTH, CLASSES)
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 3e-3})

    def probe(self, inputs):
        """Report how far the features move from those at the start of the task."""
        with torch.no_grad():
            reference = self.backbone(inputs)

        def compare(module, args, output):
            if output.shape == reference.shape:
                self.drift = float((output.detach() - reference).abs().mean())

        return self.backbone.register_forward_hook(compare)

    def train(self, inputs, labels, steps=24):
        for step in range(steps):
            rows = torch.randint(0, len(inputs), (160,))
            x, y = inputs[rows], labels[rows]
            if self.replay:
                old_x, old_y = self.replay[step % len(self.replay)]
                x, y = torch.cat([x, old_x[:60]]), torch.cat([y, old_y[:60]])
            loss = nn.functional.cross_entropy(self.head(self.backbone(x)), y)
            if self.snapshot is not None:
                for weight, frozen in zip(self.backbone.parameters(), self.snapshot.weights):
                    loss = loss + 1e-3 * (weight - frozen).pow(2).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def consolidate(self, task):
        weights = [weight.detach().clone() for weight in self.backbone.parameters()]
        if FIXED and self.snapshot is not None:
            self.snapshot.previous = None
        self.snapshot = Snapshot(task, weights, self.snapshot)
        return self.snapshot.moved()


def make_task(task):
    generator = torch.Generator().manual_seed(task)
    inputs = torch.randn(700, 64, generator=generator)
    labels = (inputs @ torch.randn(64, CLASSES, generator=generator)).argmax(dim=1)
    return inputs, labels


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    learner = Learner()
    checksum = 0.0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for task in guard.generations(range(TASKS)):
            with guard.phase("prepare"):
                inputs, labels = make_task(task)
                learner.new_head()
                handle = learner.probe(inputs)
            with guard.phase("train"):
                checksum += learner.train(inputs, labels)
            with guard.phase("evaluate"), torch.no_grad():
                guess = learner.head(learner.backbone(inputs)).argmax(dim=1)
                checksum += float((guess == labels).float().mean()) + learner.drift
                if FIXED:
                    handle.remove()
            with guard.phase("consolidate"):
                learner.replay.append((inputs[:100].clone(), labels[:100].clone()))
                if task >= DISTIL_FROM:
                    checksum += learner.consolidate(task)
    print(f"{checksum:.3f}")


main()
