"""TransE-like embeddings of a knowledge graph with filtered negative sampling."""
import sys
import time
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

KEEP_ALL = sys.argv[1] == "leak"
torch.set_num_threads(1)
ENTITIES, RELATIONS, FACTS, EPOCHS = 4000, 30, 6000, 56


class NegativeSampler:
    """Corrupts tails; never proposes the same corrupted triple twice in an epoch."""

    def __init__(self, facts):
        self.facts = set(map(tuple, facts.tolist()))
        self.proposed = set()
        self.by_relation = {}

    def start_epoch(self):
        if not KEEP_ALL:
            self.proposed.clear()

    def corrupt(self, batch):
        wrong = batch.clone()
        wrong[:, 2] = torch.randint(0, ENTITIES, (len(batch),))
        kept = []
        for index, triple in enumerate(map(tuple, wrong.tolist())):
            if triple in self.facts or triple in self.proposed:
                continue
            self.proposed.add(triple)
            kept.append(index)
        return batch[kept], wrong[kept]

    def frequency(self, relation):
        if relation not in self.by_relation:
            self.by_relation[relation] = sum(1 for fact in self.facts if fact[1] == relation)
        return self.by_relation[relation]


class TransE(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.entity = nn.Embedding(ENTITIES, dim)
        self.relation = nn.Embedding(RELATIONS, dim)

    def forward(self, triples):
        head, relation, tail = triples.T
        return (self.entity(head) + self.relation(relation) - self.entity(tail)).norm(dim=1)


def train_epoch(model, optimizer, sampler, facts):
    sampler.start_epoch()
    total = 0.0
    for batch in facts[torch.randperm(FACTS)[:1600]].split(400):
        right, wrong = sampler.corrupt(batch)
        loss = F.relu(1.0 + model(right) - model(wrong)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / 4


def main():
    torch.manual_seed(9)
    facts = torch.stack(
        [torch.randint(0, limit, (FACTS,)) for limit in (ENTITIES, RELATIONS, ENTITIES)], 1
    )
    sampler = NegativeSampler(facts)
    model = TransE()
    optimizer = torch.optim.Adagrad(model.parameters(), 0.05)
    ranks, losses = deque(maxlen=12), []
    for epoch in range(EPOCHS):
        losses.append(train_epoch(model, optimizer, sampler, facts))
        with torch.no_grad():
            probe = facts[:1].repeat(ENTITIES, 1)
            probe[:, 2] = torch.arange(ENTITIES)
            ranks.append(model(probe).argsort())
        sampler.frequency(epoch % RELATIONS)
        time.sleep(0.04)
    print("loss", round(losses[-1], 3), "rank", int((ranks[-1] == facts[0, 2]).nonzero()))


main()
