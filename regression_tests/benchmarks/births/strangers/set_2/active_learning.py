"""Pool-based active learning: the labelling service sometimes refuses a batch."""
import sys
import time
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

MODE = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(8)
INPUT, CLASSES, ROUNDS = 96, 6, 66


class LabelError(RuntimeError):
    pass


class Oracle:
    """A stand-in for people who label; every third request has no majority."""

    def __init__(self):
        self.calls = 0
        self.rule = torch.randn(INPUT, CLASSES)

    def label(self, batch):
        self.calls += 1
        votes = batch @ self.rule
        if self.calls % 3 == 0:
            raise LabelError(f"request {self.calls}: no majority")
        return votes.argmax(1)


class Learner:
    def __init__(self, oracle):
        self.oracle = oracle
        self.net = nn.Sequential(nn.Linear(INPUT, 200), nn.ReLU(), nn.Linear(200, CLASSES))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 2e-3)
        self.labelled = deque(maxlen=6)
        self.refused = [] if MODE == "leak" else deque(maxlen=10)
        self.accuracy = []

    def uncertain(self, pool):
        with torch.no_grad():
            probability = self.net(pool).softmax(1)
        entropy = -(probability * probability.clamp_min(1e-9).log()).sum(1)
        return entropy.topk(64).indices

    def query(self):
        pool = torch.randn(2500, INPUT)
        chosen = pool[self.uncertain(pool)]
        labels = self.oracle.label(chosen)
        return chosen, labels

    def acquire(self):
        try:
            self.labelled.append(self.query())
        except LabelError as error:
            self.refused.append(error if MODE == "leak" else str(error))

    def fit(self):
        for chosen, labels in list(self.labelled):
            logits = self.net(chosen)
            loss = F.cross_entropy(logits, labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.accuracy.append((logits.argmax(1) == labels).float().mean().item())


def run():
    learner = Learner(Oracle())
    for _ in range(ROUNDS):
        learner.acquire()
        learner.fit()
        time.sleep(0.05)
    return learner


if __name__ == "__main__":
    done = run()
    print("accuracy", round(done.accuracy[-1], 3), "refused", len(done.refused))
