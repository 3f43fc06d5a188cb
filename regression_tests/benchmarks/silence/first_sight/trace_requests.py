"""Evaluate pricing requests with tracing spans; the current span lives in a context variable."""
import contextlib
import contextvars
import os
import random
import sys
import time
from collections import deque

from leakguard import LeakGuard

MODE = sys.argv[1]
ROUNDS = 50
REQUESTS = 120

current_span = contextvars.ContextVar("current_span", default=None)


class Span:
    def __init__(self, name, parent):
        self.name = name
        self.parent = parent
        self.start = time.perf_counter()
        self.end = None
        self.attributes = {}

    def finish(self):
        self.end = time.perf_counter()
        return self.end - self.start


class Tracer:
    def __init__(self):
        self.finished = deque(maxlen=500)      # exported by the agent
        self.count = 0

    @contextlib.contextmanager
    def span(self, name, **attributes):
        span = Span(name, current_span.get())
        span.attributes.update(attributes)
        token = current_span.set(span)
        try:
            yield span
        finally:
            self.export(span)
            if MODE == "fixed":
                current_span.reset(token)

    def export(self, span):
        self.count += 1
        path = span.name if span.parent is None else f"{span.parent.name}/{span.name}"
        self.finished.append((path, round(span.finish(), 6)))


tracer = Tracer()


def price(spot, strike, steps):
    """A small binomial tree."""
    up, prob = 1.01, 0.53
    values = [max(0.0, spot * up ** (2 * i - steps) - strike) for i in range(steps + 1)]
    for n in range(steps, 0, -1):
        values = [prob * values[i + 1] + (1 - prob) * values[i] for i in range(n)]
    return values[0]


def handle(request):
    with tracer.span("request", user=request["user"], legs=list(request["legs"])):
        total = 0.0
        for spot, strike in request["legs"]:
            with tracer.span("leg", spot=spot, strike=strike):
                total += price(spot, strike, 48)
        return total


def make_requests(rng):
    for _ in range(REQUESTS):
        legs = [(rng.uniform(80, 120), rng.uniform(80, 120)) for _ in range(3)]
        yield {"user": rng.randrange(1000), "legs": legs}


def main():
    rng = random.Random(31)
    averages = []
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for number in guard.generations(range(ROUNDS)):
            with guard.phase("handle"):
                prices = [handle(r) for r in make_requests(rng)]
            with guard.phase("summary"):
                averages.append(sum(prices) / len(prices))
                slowest = max(tracer.finished, key=lambda item: item[1])[0]
            if number % 10 == 0:
                print(f"round {number}: mean price {averages[-1]:.3f}")
    print("spans", tracer.count, "slowest kind", slowest.split("/")[-1] in ("leg", "request"))


if __name__ == "__main__":
    main()
