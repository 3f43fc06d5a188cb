"""Plans one delivery tour per depot and day on a fresh road network."""
# /// truth
# about = "a route planner with lru_cache on methods, which keeps every network and its distance tables alive"
# [[leak]]
# type = ["Network", "dict"]
# holder = ["distances_from", "Network.distances_from"]
# kind = ["instances", "container"]
# line = ["net = Network(day, rng)", "return dijkstra(self.roads, start)", "best = {start: 0.0}"]
# ///
import heapq
import random
import sys
from functools import lru_cache

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
SIDE = 14
STOPS = 10


def dijkstra(roads, start):
    best = {start: 0.0}
    heap = [(0.0, start)]
    while heap:
        cost, node = heapq.heappop(heap)
        if cost > best[node]:
            continue
        for other, length in roads[node]:
            new = cost + length
            if new < best.get(other, float("inf")):
                best[other] = new
                heapq.heappush(heap, (new, other))
    return best


class Network:
    def __init__(self, day, rng):
        self.day = day
        self.roads = {}
        self.memo = {}
        for x in range(SIDE):
            for y in range(SIDE):
                self.roads[x, y] = links = []
                for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    if 0 <= x + dx < SIDE and 0 <= y + dy < SIDE:
                        links.append(((x + dx, y + dy), 1 + rng.random() * 3))

    def _from(self, start):
        if start not in self.memo:
            self.memo[start] = dijkstra(self.roads, start)
        return self.memo[start]

    @lru_cache(maxsize=None)
    def distances_from(self, start):
        return dijkstra(self.roads, start)

    def distance(self, a, b):
        table = self.distances_from(a) if MODE == "leak" else self._from(a)
        return table[b]


def tour_length(net, order):
    return sum(net.distance(a, b) for a, b in zip(order, order[1:]))


def improve(net, order, rng, tries=450):
    best = tour_length(net, order)
    for _ in range(tries):
        i, j = sorted(rng.sample(range(1, len(order)), 2))
        cand = order[:i] + order[i:j][::-1] + order[j:]
        length = tour_length(net, cand)
        if length < best:
            order, best = cand, length
    return order, best


rng = random.Random(77)
total = 0.0
for day in range(1000):
    net = Network(day, rng)
    stops = rng.sample(sorted(net.roads), STOPS)
    order, length = improve(net, stops, rng)
    total += length
    if day % 100 == 0:
        print(f"day {day:4d} tour {length:6.2f} mean {total / (day + 1):6.2f}", flush=True)
print("total", round(total, 1))
