"""Federated averaging, simulated with numpy; the server remembers every update for its staleness rule."""
import sys
from dataclasses import dataclass, field
import numpy as np
from leakguard import LeakGuard, phase

CLEAN = "clean" in sys.argv
rng = np.random.default_rng(3)


@dataclass
class ClientUpdate:
    client: int
    round: int
    weights: dict
    samples: int


@dataclass
class Server:
    weights: dict
    by_round: dict = field(default_factory=dict)
    staleness: int = 2

    def receive(self, update):
        self.by_round.setdefault(update.round, []).append(update)

    def aggregate(self, rnd):
        recent = [u for r in range(rnd - self.staleness, rnd + 1) for u in self.by_round.get(r, ())]
        total = sum(u.samples for u in recent)
        self.weights = {k: sum(u.weights[k] * (u.samples / total) for u in recent) for k in self.weights}
        if CLEAN:
            self.by_round.pop(rnd - self.staleness, None)


class Client:
    def __init__(self, number):
        self.number = number
        self.x = rng.normal(size=(200, 100))
        self.y = self.x @ rng.normal(size=(100, 50))

    @phase("local_fit")
    def fit(self, weights, rnd):
        w, b = weights["w"].copy(), weights["b"].copy()
        for _ in range(8):
            err = self.x @ w + b - self.y
            w -= 0.01 * self.x.T @ err / len(err)
            b -= 0.01 * err.mean(0)
        return ClientUpdate(self.number, rnd, {"w": w, "b": b}, len(self.x))


def main():
    clients = [Client(n) for n in range(20)]
    server = Server({"w": np.zeros((100, 50)), "b": np.zeros(50)})
    guard = LeakGuard(out=f"s04.{'clean' if CLEAN else 'leaky'}.jsonl")
    with guard:
        for rnd in guard.generations(range(40)):
            for client in rng.choice(len(clients), 10, replace=False):
                server.receive(clients[client].fit(server.weights, rnd))
            with guard.phase("aggregate"):
                server.aggregate(rnd)
    print("norm", np.linalg.norm(server.weights["w"]))


main()
