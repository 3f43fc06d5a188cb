"""Node classification with sampled neighbourhoods on a random graph."""
import functools
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
NODES, FEATURES, CLASSES, EPOCHS = 1200, 48, 7, 44


class Subgraph:
    def __init__(self, nodes, adjacency):
        self.nodes = nodes
        self.adjacency = adjacency


class GraphStore:
    """Edges and features; every sampled neighbourhood is remembered, for it is costly to cut out."""

    def __init__(self):
        generator = torch.Generator().manual_seed(5)
        self.edges = torch.randint(0, NODES, (NODES, 12), generator=generator)
        self.features = torch.randn(NODES, FEATURES, generator=generator)
        self.labels = torch.randint(0, CLASSES, (NODES,), generator=generator)
        self.norms = {}

    @functools.lru_cache(maxsize=None if LEAK else 4)
    def subgraph(self, seeds):
        nodes = torch.unique(torch.cat([torch.tensor(seeds), self.edges[list(seeds)].flatten()]))
        position = torch.full((NODES,), -1)
        position[nodes] = torch.arange(len(nodes))
        adjacency = torch.eye(len(nodes))
        for row, node in enumerate(nodes.tolist()):
            inside = position[self.edges[node]]
            adjacency[row, inside[inside >= 0]] = 1.0
        return Subgraph(nodes, adjacency / adjacency.sum(1, keepdim=True))

    def norm(self, bucket):
        if bucket not in self.norms:  # ten buckets, computed once each
            self.norms[bucket] = self.features[bucket::10].norm(dim=1)
        return self.norms[bucket]


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, 64)
        self.second = nn.Linear(64, CLASSES)

    def forward(self, sub, features):
        hidden = F.relu(self.first(sub.adjacency @ features[sub.nodes]))
        return self.second(sub.adjacency @ hidden)


def main():
    torch.manual_seed(5)
    store = GraphStore()
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    accuracy = []
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for epoch in guard.generations(range(1, EPOCHS + 1)):
            with guard.phase("sample"):
                batches = [tuple(torch.randperm(NODES)[:24].tolist()) for _ in range(2)]
                subgraphs = [store.subgraph(seeds) for seeds in batches]
                scale = store.norm(epoch % 10).mean()
            with guard.phase("fit"):
                hits = 0.0
                for sub in subgraphs * 3:
                    logits = model(sub, store.features / scale)
                    loss = F.cross_entropy(logits, store.labels[sub.nodes])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    hits += (logits.argmax(1) == store.labels[sub.nodes]).float().mean().item()
            accuracy.append(hits / 6)
            time.sleep(0.04)
    print("accuracy", round(accuracy[-1], 3), GraphStore.subgraph.cache_info().misses)


main()
