"""Federated averaging with sparse updates, error feedback and an adaptive clipping server."""
import functools
import sys
from collections import deque

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
ROUNDS = 16
CLIENTS = 10
SAMPLED = 4
FEATURES, HIDDEN, CLASSES = 64, 192, 10


def build():
    return nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(),
                         nn.Linear(HIDDEN, CLASSES))


def flatten(model):
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def restore(model, vector):
    start = 0
    for parameter in model.parameters():
        size = parameter.numel()
        parameter.data.copy_(vector[start:start + size].view_as(parameter))
        start += size


class Client:
    def __init__(self, number):
        self.number = number
        generator = torch.Generator().manual_seed(100 + number)
        self.inputs = torch.randn(512, FEATURES, generator=generator) + 0.1 * number
        self.labels = torch.randint(0, CLASSES, (512,), generator=generator)

    def update(self, weights, steps=14):
        model = build()
        restore(model, weights)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for step in range(steps):
            rows = slice(step % 4 * 128, step % 4 * 128 + 128)
            loss = nn.functional.cross_entropy(model(self.inputs[rows]), self.labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return flatten(model) - weights, loss.item()


class Sparsifier:
    """Sends the largest tenth of an update, and remembers the rest for the next time."""

    def __init__(self):
        self.residuals = {}

    def compress(self, client, turn, delta):
        key = client.number if FIXED else (client.number, turn)
        delta = delta + self.residuals.get(key, 0.0)
        limit = delta.abs().kthvalue(int(delta.numel() * 0.9)).values
        sparse = torch.where(delta.abs() > limit, delta, torch.zeros(()))
        self.residuals[key] = delta - sparse
        return sparse


def mean(updates):
    return torch.stack(updates).mean(dim=0)


def clipped(inner, reference, bound, updates):
    """No coordinate may move further than the bound allows, by the size of its weight."""
    limit = bound * (reference.abs() + 0.1)
    return torch.maximum(torch.minimum(inner(updates), limit), -limit)


class Server:
    def __init__(self):
        self.weights = flatten(build())
        self.sparsifier = Sparsifier()
        self.aggregate = mean
        self.norms = deque(maxlen=5)
        self.momentum = torch.zeros_like(self.weights)

    def adapt(self):
        """Tighten the aggregation around the weights of now."""
        inner = mean if FIXED else self.aggregate
        self.aggregate = functools.partial(clipped, inner, self.weights.clone(), 0.5)

    def step(self, updates):
        delta = self.aggregate(updates)
        self.momentum = 0.8 * self.momentum + delta
        self.weights = self.weights + 0.2 * self.momentum
        self.norms.append(float(delta.norm()))
        return sum(self.norms) / len(self.norms)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(9)
    clients = [Client(number) for number in range(CLIENTS)]
    server = Server()
    checksum = 0.0
    for turn in range(ROUNDS):
        updates = []
        for position in range(SAMPLED):
            client = clients[(turn * 3 + position) % CLIENTS]
            delta, loss = client.update(server.weights)
            updates.append(server.sparsifier.compress(client, turn, delta))
            checksum += loss
        if turn % 2 == 1:
            server.adapt()
        checksum += server.step(updates)
    print(f"{checksum:.4f}")


main()
