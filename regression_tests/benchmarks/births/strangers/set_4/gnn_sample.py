"""Node classification on a random graph: eight epochs over fixed clusters, then neighbour sampling."""
import functools

import torch
from torch import nn

NODES, FEATS, CLASSES, CLUSTERS = 4000, 32, 6, 24


def make_graph(seed=6):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(CLASSES, (NODES,), generator=g)
    src = torch.randint(NODES, (NODES * 8,), generator=g)
    dst = torch.randint(NODES, (NODES * 8,), generator=g)
    same = (label[src] == label[dst]) | (torch.rand(NODES * 8, generator=g) < 0.25)
    src, dst = src[same], dst[same]
    feats = torch.randn(NODES, FEATS, generator=g)
    feats[:, :CLASSES] += nn.functional.one_hot(label, CLASSES) * 0.7
    return src, dst, feats, label, g


class NeighbourSampler:
    def __init__(self, src, dst, feats):
        order = dst.argsort()
        self.src, self.dst, self.feats = src[order], dst[order], feats

    @functools.cache
    def block(self, seeds):
        """The seeds with all of their neighbours, renumbered, as (adjacency, features, how many seeds)."""
        seed = torch.tensor(seeds)
        into = torch.isin(self.dst, seed)
        src, dst = self.src[into], self.dst[into]
        nodes = torch.cat([seed, src[~torch.isin(src, seed)].unique()])
        place = torch.full((NODES,), -1)
        place[nodes] = torch.arange(len(nodes))
        index = torch.stack([place[dst], place[src]])
        ones = torch.ones(index.shape[1])
        degree = torch.zeros(len(nodes)).index_add_(0, index[0], ones).clamp_(min=1)
        adjacency = torch.sparse_coo_tensor(index, ones / degree[index[0]], (len(nodes), len(nodes))).coalesce()
        return adjacency, self.feats[nodes], len(seed)


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.near = nn.Linear(FEATS, 48), nn.Linear(FEATS, 48)
        self.own2, self.near2 = nn.Linear(48, CLASSES), nn.Linear(48, CLASSES)

    def forward(self, adjacency, x):
        h = torch.relu(self.own(x) + self.near(torch.sparse.mm(adjacency, x)))
        return self.own2(h) + self.near2(torch.sparse.mm(adjacency, h))


class Trainer:
    def __init__(self):
        src, dst, feats, self.label, self.g = make_graph()
        self.sampler = NeighbourSampler(src, dst, feats)
        self.net = GraphNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.clusters = [tuple(range(k, NODES, CLUSTERS)) for k in range(CLUSTERS)]

    def step(self, seeds):
        adjacency, x, n = self.sampler.block(seeds)
        logits = self.net(adjacency, x)[:n]
        loss = nn.functional.cross_entropy(logits, self.label[list(seeds)])
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def cluster_epoch(self):
        return sum(self.step(c) for c in self.clusters) / CLUSTERS

    def sampled_epoch(self):
        total = 0.0
        for _ in range(10):
            picked = torch.randperm(NODES, generator=self.g)[:200].sort().values
            total += self.step(tuple(picked.tolist()))
        return total / 10

    def epoch(self, number):
        return self.cluster_epoch() if number < 8 else self.sampled_epoch()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer()
    for number in range(60):
        loss = trainer.epoch(number)
        if number % 20 == 19:
            print(f"epoch {number + 1} loss {loss:.4f}")
