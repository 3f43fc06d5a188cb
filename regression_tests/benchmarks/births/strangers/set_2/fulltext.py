"""A small search index: documents go to sqlite segments, queries are planned and run."""
import random
import re
import sqlite3
import sys
import time
import weakref
from collections import Counter

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
rng = random.Random(31)
VOCABULARY = [f"term{i}" for i in range(500)]
WORD = re.compile(r"\w+")
document_frequency = Counter()  # fills up with the vocabulary and stops


class Query:
    def __init__(self, text):
        self.text = text
        self.terms = WORD.findall(text)
        self.weights = [(t, rng.random(), rng.random()) for t in self.terms for _ in range(60)]


class Plan:
    def __init__(self, query):
        self.query = query.text if FIXED else query
        self.order = sorted(set(query.terms), key=lambda t: document_frequency[t])
        self.sql = "SELECT count(*) FROM posting WHERE term IN (%s)" % ",".join("?" * len(self.order))


class Planner:
    plans = weakref.WeakKeyDictionary()

    @classmethod
    def plan(cls, query):
        if query not in cls.plans:
            cls.plans[query] = Plan(query)
        return cls.plans[query]


class Index:
    def __init__(self):
        self.readers = []
        self.live = None
        self.generation = 0

    def open_segment(self):
        segment = sqlite3.connect(":memory:")
        segment.execute("CREATE TABLE posting (term TEXT, doc INTEGER, position INTEGER)")
        if FIXED:
            for reader in self.readers:
                reader.close()
            self.readers.clear()
        self.readers.append(segment)
        self.live = segment
        self.generation += 1

    def ingest(self, base, documents):
        rows = []
        for number, words in enumerate(documents):
            document_frequency.update(set(words))
            rows += [(word, base + number, position) for position, word in enumerate(words)]
        with self.live:
            self.live.executemany("INSERT INTO posting VALUES (?, ?, ?)", rows)
        return len(rows)

    def search(self, query):
        plan = Planner.plan(query)
        return self.live.execute(plan.sql, plan.order).fetchone()[0]


def documents(n):
    return [rng.choices(VOCABULARY, k=120) for _ in range(n)]


index = Index()
hits = []
guard = LeakGuard(out=sys.argv[2])
with guard:
    for cycle in guard.generations(range(1, 65)):
        with guard.phase("ingest"):
            if cycle % 2 == 1:
                index.open_segment()
            index.ingest(cycle * 40, documents(40))
        with guard.phase("query"):
            total = 0
            for _ in range(8):
                total += index.search(Query(" ".join(rng.sample(VOCABULARY, 5))))
            hits.append(total)
        time.sleep(0.02)
print("segments", index.generation, "open", len(index.readers), "hits", sum(hits))
