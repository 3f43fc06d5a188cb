"""Loads orders from SQLite, aggregates them and renders a summary per batch."""
import random
import sqlite3
import sys

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
rng = np.random.default_rng(7)
random.seed(7)


class Loader:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table orders (id integer primary key, customer text, amount real, day integer)")
        rows = ((f"customer-{random.randrange(900):04d}", random.random() * 100, i % 365) for i in range(20_000))
        self.db.executemany("insert into orders (customer, amount, day) values (?, ?, ?)", rows)
        self.read = []

    def load(self, number, size=1500):
        offset = number * 100 % 18_000
        rows = self.db.execute("select customer, amount, day from orders where id > ? limit ?", (offset, size)).fetchall()
        if FIXED:
            self.read.clear()
        self.read.append(rows)
        return rows


class Aggregator:
    def __init__(self):
        self.frames = {}

    def columns(self, rows):
        frame = {"amount": np.array([row[1] for row in rows]), "day": np.array([row[2] for row in rows])}
        frame["score"] = np.outer(frame["amount"][:100], rng.random(200))
        return frame

    def aggregate(self, number, rows):
        key = "current" if FIXED else (number, id(rows))
        if FIXED or key not in self.frames:
            self.frames[key] = self.columns(rows)
        frame = self.frames[key]
        per_day = np.zeros(365)
        for _ in range(500):
            np.add.at(per_day, frame["day"], frame["amount"])
        return per_day, float(frame["score"].sum())


class Exporter:
    templates = {}

    def renderer(self, number):
        name = "render" if FIXED else f"render_{number}"
        if name not in self.templates:
            lines = "\n".join(f"    out.append('{part} %.2f' % values[{part}])" for part in range(12))
            space = {}
            exec(f"def {name}(values):\n    out = []\n{lines}\n    return '; '.join(out)", space)
            self.templates[name] = space[name]
        return self.templates[name]

    def export(self, number, per_day):
        return len(self.renderer(number)(per_day))


loader, aggregator, exporter = Loader(), Aggregator(), Exporter()
totals = []
guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(200)):
        with guard.phase("load"):
            rows = loader.load(number)
        with guard.phase("aggregate"):
            per_day, score = aggregator.aggregate(number, rows)
        with guard.phase("export"):
            length = exporter.export(number, per_day)
        totals.append(score)
print("batches", len(totals), "mean score", round(sum(totals) / len(totals), 2))
