"""Matrix factorisation: load rating files, train with Adam on sampled users, evaluate."""
import sys
import time

import numpy as np

USERS, ITEMS, RANK = 600, 400, 16


class Moments:
    def __init__(self, shape):
        self.m = np.zeros(shape)
        self.v = np.zeros(shape)
        self.t = 0


class Parameter:
    def __init__(self, data):
        self.data = data
        self.grad = None


class Adam:
    def __init__(self, lr=0.02):
        self.lr = lr
        self.state = {}

    def step(self, params):
        for p in params:
            s = self.state.get(p)
            if s is None:
                s = self.state[p] = Moments(p.data.shape)
            s.t += 1
            s.m = 0.9 * s.m + 0.1 * p.grad
            s.v = 0.999 * s.v + 0.001 * p.grad ** 2
            p.data -= self.lr * (s.m / (1 - 0.9 ** s.t)) / (np.sqrt(s.v / (1 - 0.999 ** s.t)) + 1e-8)

    def forget(self, p):
        self.state.pop(p, None)


def load_ratings(files=15):
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(USERS, 4)), rng.normal(size=(ITEMS, 4))
    parts = []
    for _ in range(files):
        u = rng.integers(0, USERS, 3000)
        i = rng.integers(0, ITEMS, 3000)
        r = (a[u] * b[i]).sum(1) + 0.1 * rng.normal(size=3000)
        parts.append({"user": u, "item": i, "rating": r,
                      "lines": [f"{x},{y},{z:.3f}" for x, y, z in zip(u, i, r)]})
        time.sleep(0.12)
    return parts


def train_epoch(users, items, part, optimizer, leak):
    rng = np.random.default_rng(len(part["lines"]))
    ids, pos = np.unique(part["user"], return_inverse=True)
    local = Parameter(users[ids])  # the rows this batch touches
    n = len(pos)
    for _ in range(2):
        sel = rng.integers(0, n, 1024)
        pu, pi = pos[sel], part["item"][sel]
        err = (local.data[pu] * items.data[pi]).sum(1) - part["rating"][sel]
        local.grad = np.zeros_like(local.data)
        items.grad = np.zeros_like(items.data)
        np.add.at(local.grad, pu, err[:, None] * items.data[pi] / 32)
        np.add.at(items.grad, pi, err[:, None] * local.data[pu] / 32)
        optimizer.step([local, items])
    users[ids] = local.data
    if not leak:
        optimizer.forget(local)
    return float((err ** 2).mean())


def evaluate(users, items, parts):
    scores = []
    for part in parts[:8]:
        pred = (users[part["user"]] * items.data[part["item"]]).sum(1)
        scores.append(float(np.sqrt(((pred - part["rating"]) ** 2).mean())))
        time.sleep(0.06)
    return np.mean(scores)


def main():
    leak = sys.argv[1] == "leak"
    parts = load_ratings()
    rng = np.random.default_rng(6)
    users = rng.normal(size=(USERS, RANK)) * 0.1
    items = Parameter(rng.normal(size=(ITEMS, RANK)) * 0.1)
    optimizer = Adam()
    for epoch in range(110):
        loss = train_epoch(users, items, parts[epoch % len(parts)], optimizer, leak)
        time.sleep(0.045)
        if epoch % 22 == 0:
            print("epoch", epoch, "loss", f"{loss:.4f}")
    print("rmse", f"{evaluate(users, items, parts):.4f}")


if __name__ == "__main__":
    main()

# /// truth
# about = "15 files are loaded; then the optimizer keeps the moments of each batch; a short evaluation comes last"
# [[leak]]
# type = ["Moments", "Parameter"]
# holder = ["state"]
# line = ["s = self.state[p] = Moments(p.data.shape)", "local = Parameter(users[ids])  # the rows this batch touches"]
# ///
