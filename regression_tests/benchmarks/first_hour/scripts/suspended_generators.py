"""Curriculum sampler: generators over the data set, one a round, suspended with their shuffled copy."""
import sys
import random
from leakguard import LeakGuard, phase

CLEAN = "clean" in sys.argv


def sampler(data, seed):
    order = list(data)
    random.Random(seed).shuffle(order)
    while True:
        for row in order:
            yield row


class Mixture:
    def __init__(self):
        self.sources = []

    def add(self, source):
        self.sources.append(source)
        if CLEAN:
            for old in self.sources[:-3]:
                old.close()
            self.sources = self.sources[-3:]

    def batch(self, n):
        active = self.sources[-3:]         # only the newest three are ever drawn from
        return [next(active[i % len(active)]) for i in range(n)]


@phase("refresh")
def refresh(mix, data, rnd):
    mix.add(sampler(data, rnd))


@phase("fit")
def fit(mix):
    return sum(sum(mix.batch(500)) / 500 for _ in range(40))


def main():
    data = [float(i) for i in range(60_000)]
    mix = Mixture()
    guard = LeakGuard(out=f"s23.{'clean' if CLEAN else 'leaky'}.jsonl")
    with guard:
        for rnd in range(25):
            refresh(mix, data, rnd)
            fit(mix)


main()
