"""A temporal graph network: node memories are updated by interactions, links are predicted."""
import sys
from collections import deque

import numpy as np
import torch
from torch import nn
from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
ROUNDS = 55
NODES = 1200
DIM = 64
EVENTS = 900


class NeighbourRing:
    """The last 10 neighbours of every node, in a fixed array."""

    def __init__(self):
        self.table = np.zeros((NODES, 10), dtype=np.int64)
        self.cursor = np.zeros(NODES, dtype=np.int64)

    def insert(self, sources, targets):
        for source, target in zip(sources.tolist(), targets.tolist()):
            self.table[source, self.cursor[source] % 10] = target
            self.cursor[source] += 1


class TemporalGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * DIM, DIM), nn.Tanh())
        self.update = nn.GRUCell(DIM, DIM)
        self.predict = nn.Bilinear(DIM, DIM, 1)
        self.register_buffer("memory", torch.randn(NODES, DIM) * 0.1)

    def forward(self, sources, targets, ring):
        neighbours = torch.from_numpy(ring.table).clamp(max=NODES - 1)
        context = self.memory[neighbours].mean(dim=1)
        messages = self.message(torch.cat([self.memory, context], dim=1))
        memory = self.update(messages, self.memory)
        negative = torch.roll(targets, 17)
        good = self.predict(memory[sources], memory[targets])
        bad = self.predict(memory[sources], memory[negative])
        loss = nn.functional.softplus(-good).mean() + nn.functional.softplus(bad).mean()
        return loss, memory


class Monitor:
    """Smoothed figures for the dashboard."""

    def __init__(self):
        self.loss = 0.0
        self.drift = torch.zeros(())
        self.recent = deque(maxlen=10)

    def observe(self, loss, memory):
        self.loss = 0.95 * self.loss + 0.05 * loss.item()
        spread = (memory * memory).mean()
        if FIXED:
            spread = spread.detach()
        self.drift = 0.9 * self.drift + 0.1 * spread
        self.recent.append(self.loss)
        return float(self.drift.detach())


def interactions(rng):
    sources = torch.from_numpy(rng.integers(0, NODES, EVENTS))
    targets = torch.from_numpy((rng.zipf(1.6, EVENTS) % NODES).astype(np.int64))
    return sources, targets


@torch.no_grad()
def evaluate(model, rng):
    """Rank the links of a few nodes against all: a large temporary matrix."""
    scores = model.memory @ model.memory.T
    nodes = torch.from_numpy(rng.integers(0, NODES, 64))
    return float(scores[nodes].topk(10, dim=1).values.mean())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    model, ring, monitor = TemporalGraph(), NeighbourRing(), Monitor()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    checksum = 0.0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for _ in guard.generations(range(ROUNDS)):
            with guard.phase("interactions"):
                sources, targets = interactions(rng)
                ring.insert(sources, targets)
            with guard.phase("train"):
                loss, memory = model(sources, targets, ring)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                model.memory = memory.detach()
            with guard.phase("monitor"):
                checksum += monitor.observe(loss, memory)
            with guard.phase("evaluate"):
                checksum += evaluate(model, rng)
    print(f"{checksum:.4f}")


main()
