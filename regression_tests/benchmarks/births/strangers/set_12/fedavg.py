"""Federated averaging over simulated sites, then an adaptive server."""
import functools
import math
import sys
import weakref

import numpy as np
import torch
import torch.nn.functional as F

FIXED = sys.argv[1] == "fixed"
ROUNDS = 90
ADAPTIVE_FROM = 34
SITES, PER_ROUND = 24, 6
INPUTS, HIDDEN, CLASSES, ROWS = 64, 96, 10, 120

torch.set_num_threads(1)
TEACHER = torch.randn(INPUTS, CLASSES, generator=torch.Generator().manual_seed(3))


def fresh_weights(generator):
    def layer(rows, columns):
        return torch.randn(rows, columns, generator=generator) / math.sqrt(rows)

    return {
        "hidden.weight": layer(INPUTS, HIDDEN),
        "hidden.bias": torch.zeros(HIDDEN),
        "out.weight": layer(HIDDEN, CLASSES),
        "out.bias": torch.zeros(CLASSES),
    }


def logits(weights, x):
    hidden = torch.relu(x @ weights["hidden.weight"] + weights["hidden.bias"])
    return hidden @ weights["out.weight"] + weights["out.bias"]


class Client:
    """One site's visit: what it collected since last time."""

    def __init__(self, site, visit):
        generator = torch.Generator().manual_seed(10_000 * site + visit)
        self.site = site
        self.x = torch.randn(ROWS, INPUTS, generator=generator) * (1 + site / SITES) + site / 10
        self.y = (self.scaled() @ TEACHER).argmax(1)
        self.order = torch.randperm(ROWS, generator=generator)

    @functools.lru_cache(maxsize=16 if FIXED else None)
    def scaled(self):
        return (self.x - self.x.mean(0)) / self.x.std(0)

    def fit(self, weights, epochs=7, lr=0.08):
        local = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
        for _ in range(epochs):
            for rows in self.order.split(30):
                loss = F.cross_entropy(logits(local, self.scaled()[rows]), self.y[rows])
                gradients = torch.autograd.grad(loss, list(local.values()))
                with torch.no_grad():
                    for tensor, gradient in zip(local.values(), gradients):
                        tensor -= lr * gradient
        with torch.no_grad():
            delta = [(local[name] - weights[name]).flatten() for name in weights]
        return torch.cat(delta).numpy(), loss.item()


class BufferPool:
    """Wire buffers; one goes back to the pool when its owner is gone."""

    def __init__(self, size):
        self.size = size
        self.free = []

    def lease(self, owner):
        buffer = self.free.pop() if self.free else np.empty(self.size, dtype=np.float32)
        weakref.finalize(owner, self.free.append, buffer)
        return buffer


class Server:
    def __init__(self):
        self.weights = fresh_weights(torch.Generator().manual_seed(7))
        self.pool = BufferPool(sum(tensor.numel() for tensor in self.weights.values()))
        self.moments = {}
        self.losses = np.zeros(ROUNDS)

    def receive(self, client, update):
        buffer = self.pool.lease(client if FIXED else self)
        np.copyto(buffer, update)
        return buffer

    def adapt(self, name, mean, lr=0.01):
        tensor = self.weights[name]
        key = name if FIXED else tensor
        if key not in self.moments:
            self.moments[key] = (torch.zeros_like(tensor), torch.zeros_like(tensor))
        first, second = self.moments[key]
        first.mul_(0.9).add_(mean, alpha=0.1)
        second.mul_(0.99).addcmul_(mean, mean, value=0.01)
        return tensor + lr * first / (second.sqrt() + 1e-3)

    def merge(self, received, adaptive):
        mean = torch.from_numpy(np.mean(received, axis=0))
        updated, start = {}, 0
        for name, tensor in self.weights.items():
            part = mean[start:start + tensor.numel()].view_as(tensor)
            updated[name] = self.adapt(name, part) if adaptive else tensor + part
            start += tensor.numel()
        self.weights = updated


def main():
    rng = np.random.default_rng(1)
    server = Server()
    for number in range(1, ROUNDS + 1):
        received, losses = [], []
        for site in rng.choice(SITES, PER_ROUND, replace=False):
            client = Client(int(site), number)
            update, loss = client.fit(server.weights)
            received.append(server.receive(client, update))
            losses.append(loss)
        server.merge(received, adaptive=number >= ADAPTIVE_FROM)
        server.losses[number - 1] = np.mean(losses)
        if number % 15 == 0:
            print(f"round {number}: loss {server.losses[number - 1]:.4f}")


if __name__ == "__main__":
    main()
