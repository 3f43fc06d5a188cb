"""A small search service: ingests document segments, answers saved searches, ranks with numpy."""
import collections
import random, sys

import numpy as np

from leakguard import LeakGuard

ROUNDS = 15
WORDS = [f"word{index}" for index in range(3000)]


class BaseQuery:
    kinds = collections.deque(maxlen=10)
    fields = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        BaseQuery.kinds.append(cls.__name__)

    def terms(self, rng):
        return [rng.choice(WORDS) for _ in self.fields]


class TitleQuery(BaseQuery):
    fields = ("title", "subtitle")


class SavedSearch(BaseQuery):
    """A search that a user saved."""

    def __init__(self, name, fields):
        self.name, self.fields, self.label = name, fields, name * 3

    def describe(self):
        return f"{self.name} over {', '.join(self.fields)}"


class Analyzer:
    def __init__(self):
        self.memo = {}
        self.vocabulary = {}

    def normalise(self, batch):
        key = id(batch)
        if key in self.memo:
            return self.memo[key][1]
        tokens = [[word.upper() for word in text.split()[:4]] for text in batch]
        self.memo = {key: (batch, tokens)}
        return tokens

    def learn(self, tokens):
        for row in tokens:
            for word in row:
                self.vocabulary.setdefault(word, len(self.vocabulary))


class Index:
    def __init__(self):
        self.segments = collections.deque(maxlen=3)
        self.hot = collections.OrderedDict()

    def add(self, tokens):
        postings = collections.defaultdict(list)
        for number, row in enumerate(tokens):
            for word in row:
                postings[word].append(number)
        self.segments.append(dict(postings))

    def lookup(self, word):
        hits = [posting for segment in self.segments for posting in segment.get(word.upper(), ())]
        self.hot[word] = hits
        self.hot.move_to_end(word)
        while len(self.hot) > 250:
            self.hot.popitem(last=False)
        return hits


class Ranker:
    def __init__(self):
        self.rng = np.random.default_rng(7)
        self.weights = self.rng.random(40_000)
        self.podium = {}

    def rank(self, number, hits):
        scores = self.weights * (1 + len(hits) % 11)
        for _ in range(60):
            scores = np.sqrt(scores * scores + self.rng.random(40_000) * 0.01)
        ordered = np.sort(scores)
        self.podium[number] = ordered[-10:].copy()
        while len(self.podium) > 6:
            del self.podium[next(iter(self.podium))]
        return float(ordered[-1])


def make_batch(rng, size):
    return [" ".join(rng.choices(WORDS, k=25)) for _ in range(size)]


def main():
    rng = random.Random(3)
    analyzer, index, ranker = Analyzer(), Index(), Ranker()
    guard = LeakGuard(out=sys.argv[1] if len(sys.argv) > 1 else "search_index_calm.jsonl")
    best = 0.0
    with guard:
        for round_number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("ingest"):
                for _ in range(60):
                    candidate = make_batch(rng, 500)
                    candidate.sort()
                batch = candidate
                tokens = analyzer.normalise(batch)
                analyzer.learn(tokens)
                index.add(tokens)
            with guard.phase("query"):
                queries = [TitleQuery() for _ in range(40)]
                if round_number >= 5:
                    queries += [SavedSearch(f"r{round_number}u{user}", ("title", "body")) for user in range(25)]
                hits = [posting for query in queries for word in query.terms(rng) for posting in index.lookup(word)]
            with guard.phase("rank"):
                for attempt in range(2):
                    best = max(best, ranker.rank((round_number, attempt), hits))
    print("best", round(best, 3), "vocabulary", len(analyzer.vocabulary))


main()
