"""Metrics of a web service: a histogram for each set of labels. Somebody made the client a label. Spans of
requests go out in bundles, every 25 rounds."""

# /// truth
# about = "histograms by (route, client) with ever new clients, about 1.5 kB a round under a sawtooth of spans"
# [[leak]]
# type = ["Histogram", "list", "tuple"]
# holder = "series"
# phase = "handle"
# start = 1
# within = 25
# kind = ["instances", "container"]
# ///
import bisect
import hashlib
import hmac
import json
import os
import random
import sys
import zlib

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(8)
ROUTES = ["/", "/login", "/search", "/cart", "/pay"]
BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200]


class Histogram:
    __slots__ = ("buckets", "total")

    def __init__(self):
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.total = 0

    def observe(self, value):
        self.buckets[bisect.bisect(BOUNDS, value)] += 1
        self.total += 1


class Metrics:
    def __init__(self):
        self.series = {}

    def observe(self, route, client, value):
        key = (route, client) if LEAK else (route, client.split("-")[0])
        histogram = self.series.get(key)
        if histogram is None:
            histogram = self.series[key] = Histogram()
        histogram.observe(value)


class Spans:
    def __init__(self):
        self.pending = []
        self.sent = 0

    def send(self):
        body = json.dumps(self.pending).encode()
        self.sent += len(zlib.compress(body, 1))
        self.pending.clear()


def main():
    metrics, spans = Metrics(), Spans()
    regular = [f"web-{number:05d}" for number in range(40)]
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for round_ in guard.generations(range(1, 1401)):
            with guard.phase("handle"):
                clients = rng.choices(regular, k=395) + [f"app-{rng.getrandbits(40):010x}" for _ in range(5)]
                for position, client in enumerate(clients):
                    route = ROUTES[position % 5]
                    value = rng.lognormvariate(2, 1)
                    body = {"route": route, "client": client, "ms": value, "trace": f"{rng.getrandbits(64):016x}"}
                    text = json.dumps(body)
                    body["signature"] = hmac.new(b"secret", text.encode(), hashlib.sha256).hexdigest()[:12]
                    json.loads(text)
                    metrics.observe(route, client, value)
                    spans.pending.append(body)
            if round_ % 25 == 0:
                with guard.phase("send"):
                    spans.send()
    print("sent", spans.sent, "series", len(metrics.series))


main()
