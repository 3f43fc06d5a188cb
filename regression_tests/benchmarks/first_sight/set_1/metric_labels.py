"""A web application with latency histograms by route."""
# /// truth
# about = "histograms are labelled with the raw path, so that each new order makes a new one"
# [[leak]]
# type = "Histogram"
# holder = "registry"
# start = 1
# within = 2
# kind = "instances"
# ///
import bisect
import os
import random
import re
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 400


class Histogram:
    bounds = tuple(0.001 * 1.5**n for n in range(24))
    registry = {}

    def __init__(self, route):
        self.route = route
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0
        Histogram.registry[route] = self

    @classmethod
    def of(cls, path):
        route = path if LEAK else re.sub(r"\d+", "{id}", path)
        return cls.registry.get(route) or cls(route)

    def observe(self, value):
        self.counts[bisect.bisect(self.bounds, value)] += 1
        self.total += value


class Application:
    def __init__(self):
        self.orders = 1000
        self.page = "<li>{name}: {price:.2f}</li>"

    def get(self, path):
        rows = [self.page.format(name=f"item {n}", price=n * 1.19) for n in range(70)]
        return "\n".join(rows).replace("item", path)


application = Application()
chance = random.Random(2)
fixed = ["/", "/login", "/search", "/cart", "/help"]
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for second in guard.generations(range(1, GENERATIONS + 1)):
        for request in range(240):
            if request % 24 == 7:
                application.orders += 1
                path = f"/orders/{application.orders}"
            else:
                path = chance.choice(fixed)
            body = application.get(path)
            Histogram.of(path).observe(len(body) / 1e5 * chance.random())
