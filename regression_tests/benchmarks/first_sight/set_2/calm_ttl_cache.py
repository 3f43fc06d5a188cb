"""A price service whose answers may be reused for 40 seconds; a second is a round. Traffic has its tides."""

# /// truth
# about = "a cache of answers with a time to live of 40 rounds, under traffic that comes and goes"
# ///
import math
import os
import random
import sys
from collections import OrderedDict

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
rng = random.Random(29)
TTL = 40


class Answer:
    def __init__(self, route, offers, born):
        self.route, self.offers, self.born = route, offers, born


class TtlCache:
    def __init__(self, ttl):
        self.ttl = ttl
        self.entries = OrderedDict()
        self.hits = 0

    def get(self, key, now):
        answer = self.entries.get(key)
        if answer is not None and now - answer.born < self.ttl:
            self.hits += 1
            return answer
        return None

    def put(self, key, answer):
        self.entries.pop(key, None)
        self.entries[key] = answer

    def expire(self, now):
        while self.entries:
            key, answer = next(iter(self.entries.items()))
            if now - answer.born < self.ttl:
                break
            del self.entries[key]


cache = TtlCache(TTL)


def price(route, now):
    start, end = route
    offers = []
    for carrier in range(12):
        base = 40 + abs(start - end) * 0.8 + carrier * 3
        offers.append({"carrier": carrier, "price": round(base * (1 + 0.2 * math.sin(now / 50 + carrier)), 2)})
    return Answer(route, sorted(offers, key=lambda offer: offer["price"]), now)


@phase("serve")
def serve(now, requests):
    total = 0.0
    for _ in range(requests):
        route = (int(rng.paretovariate(0.8)) % 400, rng.randrange(60))
        answer = cache.get(route, now)
        if answer is None:
            answer = price(route, now)
            cache.put(route, answer)
        total += sum(offer["price"] for offer in answer.offers[:3])
    return total


@phase("expire")
def expire(now):
    cache.expire(now)


revenue = 0.0
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for now in guard.generations(range(1, 501)):
        revenue += serve(now, int(1100 + 300 * math.sin(now / 23)))
        expire(now)
print("revenue", round(revenue), "hits", cache.hits)
