"""A gateway that counts and times its requests with prometheus_client."""

# /// truth
# about = """metrics labelled with the raw path of each request, so that every document gets a
# series of its own, as in perdy/starlette-prometheus issue 7 and BerriAI/litellm issue 12159"""
# [[leak]]
# type = ["Counter", "Histogram", "MutexValue", "Lock", "lock", "list", "tuple", "dict", "str"]
# holder = ["_metrics", "REQUESTS", "LATENCY"]
# phase = "respond"
# start = 1
# ///
import json
import os
import random
import re
import sys
import zlib

from prometheus_client import CollectorRegistry, Counter, Histogram

from leakguard import LeakGuard

LABEL_BY_ROUTE = sys.argv[1] == "clean"
GENERATIONS = 600
ROUTES = {
    "/documents/{id}": re.compile(r"/documents/\d+$"),
    "/documents/{id}/summary": re.compile(r"/documents/\d+/summary$"),
    "/health": re.compile(r"/health$"),
}

registry = CollectorRegistry()
REQUESTS = Counter("requests", "requests by path", ["method", "path"], registry=registry)
LATENCY = Histogram(
    "latency_seconds", "time to answer", ["path"], buckets=(0.001, 0.01, 0.1), registry=registry
)


def summarise(number: int) -> bytes:
    words = random.Random(number % 50).choices(["net", "gross", "paid", "due", "open"], k=5_000)
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return zlib.compress(json.dumps({"id": number, "counts": counts, "words": words}).encode())


def route_of(path: str) -> str:
    for template, pattern in ROUTES.items():
        if pattern.match(path):
            return template
    return "other"


def observe(path: str, size: int) -> None:
    label = route_of(path) if LABEL_BY_ROUTE else path
    REQUESTS.labels("GET", label).inc()
    LATENCY.labels(label).observe(size / 1e6)


def main() -> None:
    random.seed(7)
    number = 1_000
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("accept"):
                paths = ["/health"]
                for _ in range(3):
                    number += random.randint(1, 9)
                    paths += [f"/documents/{number}", f"/documents/{number}/summary"]
            with guard.phase("respond"):
                for path in paths:
                    digits = re.findall(r"\d+", path)
                    body = summarise(int(digits[0])) if digits else b"ok"
                    observe(path, len(body))


if __name__ == "__main__":
    main()
