"""A two-tower recommender that is retrained each round, with plug-in schemas and an evaluation log."""
import gc
import logging
import logging.handlers
import sys
from collections import deque

import numpy as np
import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
ROUNDS = 72
USERS, ITEMS, DIM = 800, 3000, 32
VERBOSE_FROM = 28


class Schema:
    """Base of the catalogue schemas: subclasses register themselves, as plug-ins do."""

    registry = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Schema.registry["current" if FIXED else cls.__name__] = cls

    @classmethod
    def encode(cls, item):
        return cls.vocabulary[item % len(cls.vocabulary)]


def schema_of(version):
    words = [f"v{version}-token-{i}" for i in range(700)]
    return type(f"Schema{version}", (Schema,), {"version": version, "vocabulary": words})


def popularity(version, items, _seen={}):
    """How many of the items are new to the window of this version."""
    seen = {} if FIXED else _seen
    fresh = 0
    for item in items:
        if (version, item) not in seen:
            seen[version, item] = fresh
            fresh += 1
    return fresh


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, DIM)
        self.items = nn.Embedding(ITEMS, DIM)
        self.mix = nn.Linear(DIM, DIM)

    def forward(self, users, items):
        return (self.mix(self.users(users)) * self.items(items)).sum(dim=1)


class Retriever:
    """Candidates in pages; a session takes the first pages and may come back for more."""

    def __init__(self, model):
        self.model = model
        self.sessions = deque(maxlen=4) if FIXED else deque()

    def pages(self, user):
        with torch.no_grad():
            scores = self.model.mix(self.model.users.weight[user]) * self.model.items.weight
        order = scores.sum(dim=1).argsort(descending=True)
        for start in range(0, ITEMS, 50):
            page = order[start:start + 50]
            yield page.tolist(), float(scores[page[0]].norm())

    def first(self, user, count):
        cursor = self.pages(user)
        found = [next(cursor) for _ in range(count)]
        self.sessions.append(cursor)
        return found


def evaluation_log(turn):
    logger = logging.getLogger("recsys.eval" if FIXED else f"recsys.eval.{turn}")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    handler = logging.handlers.MemoryHandler(capacity=10_000, flushOnClose=False)
    logger.addHandler(handler)
    return logger, handler


def main():
    torch.set_num_threads(1)
    torch.manual_seed(13)
    rng = np.random.default_rng(13)
    model = TwoTower()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    retriever, quality = Retriever(model), deque(maxlen=10)
    checksum, schema = 0.0, schema_of(0)
    for turn in range(1, ROUNDS + 1):
        if turn % 2 == 0:
            schema = schema_of(turn)
        for _ in range(10):
            users = torch.from_numpy(rng.integers(0, USERS, 512))
            items = torch.from_numpy(rng.integers(0, ITEMS, 512))
            labels = ((users + items) % 3 == 0).float()
            loss = nn.functional.binary_cross_entropy_with_logits(model(users, items), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        checksum += popularity(turn, rng.integers(0, ITEMS, 600).tolist())
        shown = retriever.first(turn % USERS, 3)
        if turn >= VERBOSE_FROM:
            logger, handler = evaluation_log(turn)
            for page, norm in shown:
                for item in page:
                    logger.info("turn %d item %s norm %.4f", turn, schema.encode(item), norm)
            if FIXED:
                logger.removeHandler(handler)
                handler.close()
        quality.append(loss.item())
        checksum += sum(quality) / len(quality)
        if turn % 8 == 0:
            gc.collect()                        # drops the replaced schemas
    print(f"{checksum:.4f}")


main()
