"""Node classification on sampled community graphs, with a curriculum of growing noise."""
import heapq
import sys
import weakref
from collections import Counter, deque

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1]
ROUNDS, NODES, CLASSES, FEATURES, HIDDEN = 60, 200, 4, 16, 64
torch.set_num_threads(1)
torch.manual_seed(0)


class CommunityGraph:
    def __init__(self, rng, noise):
        labels = rng.integers(0, CLASSES, NODES)
        same = labels[:, None] == labels[None, :]
        adjacency = rng.random((NODES, NODES)) < np.where(same, 0.10, 0.005 + noise)
        adjacency |= adjacency.T
        self.edges = torch.from_numpy(np.stack(adjacency.nonzero()))
        features = rng.normal(0, 1.5, (NODES, FEATURES)) + np.eye(CLASSES, FEATURES)[labels]
        self.x = torch.from_numpy(features.astype(np.float32))
        self.y = torch.from_numpy(labels)


class Propagation:
    """Symmetrically normalised adjacency, computed once per graph."""

    def __init__(self):
        self.normalised = weakref.WeakKeyDictionary() if MODE == "fixed" else {}

    def of(self, graph):
        if graph not in self.normalised:
            dense = torch.eye(NODES)
            dense[graph.edges[0], graph.edges[1]] = 1.0
            scale = dense.sum(1).rsqrt()
            self.normalised[graph] = scale[:, None] * dense * scale[None, :]
        return self.normalised[graph]


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, adjacency, x):
        h = torch.relu(self.first(adjacency @ x))
        h = torch.relu(self.second(adjacency @ h))
        return self.head(h)


def watch_activations(layer):
    latest = torch.zeros(NODES, HIDDEN)

    def record(_module, _inputs, output):
        latest.copy_(output.detach())

    return layer.register_forward_hook(record), latest


class Curriculum:
    def __init__(self, rng):
        self.rng = rng
        self.noise = 0.0
        self.pool = deque(maxlen=12)
        self.reasons = Counter()
        self.rejected = []

    def check_mixing(self, graph):
        hops = torch.zeros(NODES, NODES)
        hops[graph.edges[0], graph.edges[1]] = 1.0
        walk = hops / hops.sum(1, keepdim=True).clamp(min=1)
        same = (graph.y[:, None] == graph.y[None, :]).float()
        homophily = (walk * same).sum(1).mean().item()
        if homophily < 0.55:
            raise ValueError("communities are mixed too strongly")

    def propose(self):
        graph = CommunityGraph(self.rng, self.noise)
        try:
            self.check_mixing(graph)
        except ValueError as error:
            self.reasons[str(error)] += 1
            if MODE != "fixed":
                self.rejected.append(error)
            graph = CommunityGraph(self.rng, 0.01)
        self.pool.append(graph)
        return graph

    def advance(self, accuracy, number):
        self.noise = 0.045 if number >= 24 else min(0.01, self.noise + 0.0005 * (accuracy > 0.4))


class Trainer:
    def __init__(self):
        self.model = GCN()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, ROUNDS)
        self.propagation = Propagation()
        self.best = []

    def fit(self, pool, passes=2):
        for _ in range(passes):
            for graph in pool:
                logits = self.model(self.propagation.of(graph), graph.x)
                loss = nn.functional.cross_entropy(logits, graph.y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
        self.schedule.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, graph, number):
        handle, hidden = watch_activations(self.model.second)
        logits = self.model(self.propagation.of(graph), graph.x)
        accuracy = (logits.argmax(1) == graph.y).float().mean().item()
        dead = (hidden <= 0).all(0).float().mean().item()
        if MODE == "fixed":
            handle.remove()
        weights = {name: value.clone() for name, value in self.model.state_dict().items()}
        heapq.heappush(self.best, (accuracy, number, weights))
        if len(self.best) > 5:
            heapq.heappop(self.best)
        return accuracy, dead


curriculum, trainer = Curriculum(np.random.default_rng(0)), Trainer()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(1, ROUNDS + 1)):
        with guard.phase("sample"):
            newest = curriculum.propose()
        with guard.phase("train"):
            train_loss = trainer.fit(curriculum.pool)
        with guard.phase("evaluate"):
            score, dead_units = trainer.evaluate(newest, number)
        curriculum.advance(score, number)
        if number % 10 == 0:
            print(f"{number:3d} loss {train_loss:.3f} accuracy {score:.2f} dead {dead_units:.2f}")
