"""Plans a delivery tour with an evolutionary search, a tree probe for hard spots and a cost monitor."""
import gc
import itertools
import random
import sys
from collections import OrderedDict

import numpy as np

from leakguard import LeakGuard

MODE = sys.argv[1]
ROUNDS = 90
STOPS = 80
POP = 64


class Depot:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        points = self.rng.uniform(0, 100, (STOPS, 2))
        self.dist = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))

    def cost(self, pop):
        return self.dist[pop, np.roll(pop, -1, axis=1)].sum(axis=1)


class Lineage:
    def __init__(self):
        self.table = np.zeros((ROUNDS + 1, STOPS), dtype=np.int64)
        self.champions = {}

    def record(self, number, row):
        if MODE == "fixed":
            self.table[number] = row
        else:
            self.champions[number] = row

    def distance(self, number):
        if MODE == "fixed":
            return int((self.table[number] != self.table[number - 1]).sum())
        previous = self.champions.get(number - 1)
        return 0 if previous is None else int((self.champions[number] != previous).sum())


class DeltaCache:
    def __init__(self, size):
        self.size, self.hits, self.store = size, 0, OrderedDict()

    def delta(self, dist, a, b, c, d):
        key = (a, b, c, d)
        if key in self.store:
            self.hits += 1
            return self.store[key]
        value = float(dist[a, c] + dist[b, d] - dist[a, b] - dist[c, d])
        self.store[key] = value
        if len(self.store) > self.size:
            self.store.popitem(last=False)
        return value


class CostMonitor:
    def __init__(self, source):
        self.trend, self.alarm = itertools.tee(source)
        self.mean = self.worst = 0

    def poll(self, count):
        for sample in itertools.islice(self.trend, count):
            self.mean += 0.01 * (sample - self.mean)
        if MODE == "fixed":
            self.worst = max(self.worst, *itertools.islice(self.alarm, count))


class Node:
    def __init__(self, stop, parent, bound):
        self.stop, self.parent, self.bound, self.children = stop, parent, bound, []
        self.visited = parent.visited | {stop} if parent else frozenset([stop])


def probe(dist, start, width):
    root = Node(start, None, 0.0)
    frontier = [root]
    for _ in range(6):
        fresh = []
        for node in frontier:
            for stop in np.argsort(dist[node.stop])[1:6].tolist():
                if stop not in node.visited:
                    child = Node(stop, node, node.bound + float(dist[node.stop, stop]))
                    node.children.append(child)
                    fresh.append(child)
        frontier = sorted(fresh, key=lambda n: n.bound)[:width]
    return frontier[0].bound


def cost_stream(costs):
    while True:
        for value in costs():
            yield float(value) + random.gauss(0, 0.01)


def breed(pop, costs, rng):
    parents = pop[np.argsort(costs)[: POP // 4]]
    children = np.repeat(parents, 4, axis=0)
    for row in children[1:]:
        i, j = sorted(rng.integers(0, STOPS, 2))
        row[i:j + 1] = row[i:j + 1][::-1].copy()
    return children


def two_opt(tour, depot, cache):
    gain = 0.0
    for i in range(STOPS - 3):
        for j in range(i + 2, STOPS - 1):
            a, b, c, d = (int(tour[k]) for k in (i, i + 1, j, j + 1))
            delta = cache.delta(depot.dist, a, b, c, d)
            if delta < -1e-9:
                tour[i + 1:j + 1] = tour[i + 1:j + 1][::-1].copy()
                gain -= delta
    return gain


def main():
    depot = Depot(3)
    pop = np.array([depot.rng.permutation(STOPS) for _ in range(POP)])
    costs, lineage, cache = depot.cost(pop), Lineage(), DeltaCache(20000)
    monitor = CostMonitor(cost_stream(lambda: costs))
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("breed"):
                pop = breed(pop, costs, depot.rng)
                costs = depot.cost(pop)
            with guard.phase("improve"):
                for index in range(5):
                    two_opt(pop[int(depot.rng.integers(POP))], depot, cache)
                costs = depot.cost(pop)
            with guard.phase("record"):
                lineage.record(number, pop[int(costs.argmin())])
                lineage.distance(number)
            with guard.phase("monitor"):
                monitor.poll(600)
            if number == 36 and MODE != "fixed":
                gc.disable()
            if number >= 36:
                with guard.phase("probe"):
                    probe(depot.dist, number % STOPS, 16)
    print(round(float(costs.min()), 2), round(monitor.mean, 2), cache.hits)


main()
