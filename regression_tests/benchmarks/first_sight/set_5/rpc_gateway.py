"""In-process RPC gateway fed by synthetic traffic, with tracing spans and paged listings."""
import contextlib
import hashlib
import json
import random
import sys
import time
from contextvars import ContextVar

# /// truth
# about = "a gateway that never resets the spans in its context variable, and later keeps paged listings open"
# [[leak]]
# type = ["Span", "dict"]
# holder = ["trail", "spans"]
# kind = ["instances", "container"]
# line = ["span = Span(name, labels)", "spans.append(span)"]
# [[leak]]
# type = ["generator", "list", "tuple", "dict"]
# holder = ["cursors"]
# kind = ["instances", "container"]
# line = ["cursor = self.pages(request[\"owner\"], request[\"filter\"])", "rows = [(i, \"%s-%05d\" % (owner, i), hash((owner, i)) % 997) for i in range(420)]", "self.cursors[request[\"id\"]] = cursor"]
# ///

trail: ContextVar[list] = ContextVar("trail")


class Span:
    def __init__(self, name, labels):
        self.name = name
        self.labels = labels
        self.start = time.perf_counter()
        self.end = None

    @property
    def took(self):
        return (self.end or time.perf_counter()) - self.start


@contextlib.contextmanager
def traced(name, **labels):
    span = Span(name, labels)
    spans = trail.get()
    spans.append(span)
    try:
        yield span
    finally:
        span.end = time.perf_counter()


def traffic(n, seed):
    rng = random.Random(seed)
    for i in range(n):
        kind = "list" if i > n // 2 and i % 4 == 0 else rng.choice(["get", "put", "hash"])
        yield {"id": "%08x" % rng.getrandbits(32), "kind": kind, "owner": "user%d" % rng.randrange(50),
               "filter": rng.randrange(7), "body": [rng.random() for _ in range(300)]}


class Gateway:
    def __init__(self, tidy):
        self.tidy = tidy
        self.store = {}
        self.cursors = {}
        self.slowest = 0.0
        self.counts = {}

    def pages(self, owner, which):
        rows = [(i, "%s-%05d" % (owner, i), hash((owner, i)) % 997) for i in range(420)]
        for start in range(0, len(rows), 40):
            yield [r for r in rows[start:start + 40] if r[2] % 7 != which]

    def handle(self, request):
        with traced("decode", id=request["id"], owner=request["owner"]) as decode:
            text = json.dumps(request)
            for _ in range(10):
                request = json.loads(json.dumps(json.loads(text)))
        with traced("auth", owner=request["owner"], method="token") as auth:
            token = hashlib.pbkdf2_hmac("sha256", request["owner"].encode(), b"salt", 3500)
        with traced("work", kind=request["kind"], id=request["id"]) as work:
            if request["kind"] == "list":
                cursor = self.pages(request["owner"], request["filter"])
                self.cursors[request["id"]] = cursor
                answer = next(cursor) + next(cursor)
                if self.tidy:
                    self.cursors.pop(request["id"]).close()
            elif request["kind"] == "put":
                self.store[request["owner"]] = answer = sum(request["body"])
            elif request["kind"] == "get":
                answer = self.store.get(request["owner"], 0.0)
            else:
                answer = sorted(request["body"])[:3]
        with traced("encode", token=token.hex()[:12]) as encode:
            out = json.dumps(answer)
        self.slowest = max(self.slowest, decode.took + auth.took + work.took + encode.took)
        self.counts[request["kind"]] = self.counts.get(request["kind"], 0) + 1
        return out


def main():
    gateway = Gateway(tidy=sys.argv[1] == "clean")
    trail.set([])
    size = 0
    for n, request in enumerate(traffic(2800, seed=8)):
        if gateway.tidy:
            token = trail.set([])
            size += len(gateway.handle(request))
            trail.reset(token)
        else:
            size += len(gateway.handle(request))
        if n % 400 == 399:
            print("%d requests, %d bytes, %s" % (n + 1, size, gateway.counts))


main()
