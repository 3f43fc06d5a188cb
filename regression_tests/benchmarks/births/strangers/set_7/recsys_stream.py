"""Streaming matrix factorisation with an event bus and an asynchronous audit."""
import asyncio
import weakref
from collections import OrderedDict

import numpy as np

rng = np.random.default_rng(13)
ROUNDS = 200
USERS, ITEMS, WIDTH = 800, 600, 16


class Batch:
    def __init__(self, size):
        self.users = rng.integers(0, USERS, size)
        self.items = rng.integers(0, ITEMS, size)
        self.ratings = rng.normal(3, 1, size)


def batch_released(batch):
    Model.released += 1


def load_batch(size=1500):
    batch = Batch(size)
    weakref.finalize(batch, batch_released, batch)
    return batch


class EventBus:
    def __init__(self):
        self.handlers = {"metrics": [], "shutdown": []}

    def subscribe(self, topic, handler):
        self.handlers[topic].append(handler)

    def publish(self, topic, payload):
        for handler in self.handlers[topic]:
            handler(payload)


class SegmentReport:
    """Scores of one segment of users; a new one in each round after the rollout of segments."""

    def __init__(self, scores):
        self.scores = scores
        self.last = None

    def on_metrics(self, payload):
        self.last = payload["rmse"]


class Model:
    released = 0

    def __init__(self):
        self.user = rng.normal(0, 0.1, (USERS, WIDTH))
        self.item = rng.normal(0, 0.1, (ITEMS, WIDTH))
        self.top = OrderedDict()

    def train_batch(self, batch):
        total = 0.0
        for start in list(range(0, len(batch.users), 20)) * 7:
            u, i = batch.users[start:start + 20], batch.items[start:start + 20]
            p, q = self.user[u], self.item[i]
            err = batch.ratings[start:start + 20] - 3 - (p * q).sum(1)
            np.add.at(self.user, u, 0.02 * (err[:, None] * q - 0.01 * p))
            np.add.at(self.item, i, 0.02 * (err[:, None] * p - 0.01 * q))
            total += float((err ** 2).sum())
        return (total / len(batch.users) / 7) ** 0.5

    def recommend(self, user):
        if user in self.top:
            self.top.move_to_end(user)
            return self.top[user]
        self.top[user] = np.argsort(self.item @ self.user[user])[::-1][:50].copy()
        if len(self.top) > 300:
            self.top.popitem(last=False)
        return self.top[user]


class Auditor:
    def __init__(self):
        self.pending = set()
        self.audited = 0

    async def _audit(self, lists, confirmed):
        coverage = len(np.unique(lists)) / ITEMS
        await confirmed.wait()
        self.audited += coverage > 0

    def submit(self, lists):
        confirmed = asyncio.Event()
        task = asyncio.create_task(self._audit(lists, confirmed))
        self.pending.add(task)
        task.add_done_callback(self.pending.discard)


def publish_metrics(bus, model, rmse, number):
    if number >= 60:
        segment = rng.integers(0, USERS, 10)
        report = SegmentReport(model.user[segment] @ model.item.T)
        bus.subscribe("metrics", report.on_metrics)
    bus.publish("metrics", {"rmse": rmse, "round": number})


async def main():
    model, bus, auditor = Model(), EventBus(), Auditor()
    smooth = []
    for number in range(1, ROUNDS + 1):
        batch = load_batch()
        rmse = model.train_batch(batch)
        smooth = (smooth + [rmse])[-20:]
        lists = np.stack([model.recommend(int(user)) for user in batch.users[:50]])
        auditor.submit(lists)
        publish_metrics(bus, model, rmse, number)
        await asyncio.sleep(0)
        if number % 50 == 0:
            print(f"round {number} rmse {np.mean(smooth):.3f} audited {auditor.audited}")


asyncio.run(main())
