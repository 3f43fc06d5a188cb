"""Asyncio order gateway: admits order bursts, matches them, publishes fills per venue."""
import asyncio
import contextvars
import functools
import os
import sys
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass, field, make_dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

FIXED = sys.argv[1] == "fixed"
TICKS = 160
TRACE_FROM = 56
VENUES = {"north": ("price", "size"), "south": ("price", "size", "fee"), "auction": ("price", "size", "phase"),
          "dark": ("price", "size", "delay", "tier"), "cross": ("price", "size", "venue", "fee")}

current_span = contextvars.ContextVar("current_span", default=None)


@dataclass
class Span:
    name: str
    parent: "Span | None"
    samples: np.ndarray = field(default_factory=lambda: np.zeros(6000))


@dataclass(eq=False)
class Order:
    ident: int
    side: int
    limit: float
    depth: np.ndarray
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    filled: bool = False


class DepthCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = OrderedDict()

    def get(self, key, build):
        if key not in self.entries:
            self.entries[key] = build()
        self.entries.move_to_end(key)
        while len(self.entries) > self.capacity:
            self.entries.popitem(last=False)
        return self.entries[key]


@functools.singledispatch
def encode(message):
    raise TypeError(type(message).__name__)


def encode_fields(message):
    return "|".join(f"{key}={value:.3f}" for key, value in asdict(message).items())


def build_message_type(venue, stamp):
    kind = make_dataclass(f"Fill_{venue}_{stamp}", [(name, float) for name in VENUES[venue]])
    encode.register(kind)(encode_fields)
    return kind


@functools.lru_cache(maxsize=8)
def standing_message_type(venue):
    return build_message_type(venue, "v1")


def message_type(venue, tick):
    return standing_message_type(venue) if FIXED else build_message_type(venue, tick)


class Gateway:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.watchers = set()
        self.latencies = deque(maxlen=500)
        self.depths = DepthCache(48)
        self.next_ident = 0
        self.sent = 0

    def burst(self, tick, count=16):
        surface = self.depths.get(tick % 60, lambda: self.rng.normal(100, 2, (40, 128)))
        for position in range(count):
            self.next_ident += 1
            depth = np.sort(surface[position] + self.rng.normal(0, 0.1, (16, 128)), axis=1)
            yield Order(self.next_ident, position % 2, float(depth[0, 64]), depth)

    async def watch(self, order):
        await order.settled.wait()
        self.latencies.append(order.ident % 17)

    def admit(self, orders):
        for order in orders:
            task = asyncio.create_task(self.watch(order))
            self.watchers.add(task)
            task.add_done_callback(self.watchers.discard)

    def match(self, orders):
        curves = np.stack([order.depth.ravel() for order in orders])
        for _ in range(22):
            curves = curves - curves.mean(axis=0)
            left, _, right = np.linalg.svd(curves, full_matrices=False)
            curves = left @ right + curves
        for order in orders:
            order.filled = order.ident % 4 != 0
            if order.filled or FIXED:
                order.settled.set()
        return np.abs(curves).sum(axis=1)

    def publish(self, tick, orders, weights):
        for offset, venue in enumerate(VENUES):
            kind = message_type(venue, tick)
            for order in orders[offset::5]:
                if order.filled:
                    values = [order.limit + step for step in range(len(VENUES[venue]))]
                    self.sent += len(encode(kind(*values))) + int(weights[offset]) % 2

    def traced_publish(self, tick, orders, weights):
        span = Span(f"publish-{tick}", current_span.get())
        token = current_span.set(span)
        span.samples[: len(weights)] = weights
        self.publish(tick, orders, weights)
        if FIXED:
            current_span.reset(token)


async def serve():
    gateway = Gateway(23)
    volumes = []
    for tick in range(1, TICKS + 1):
        orders = list(gateway.burst(tick))
        gateway.admit(orders)
        await asyncio.sleep(0)
        weights = gateway.match(orders)
        publish = gateway.traced_publish if tick >= TRACE_FROM else gateway.publish
        publish(tick, orders, weights)
        await asyncio.sleep(0)
        volumes.append(float(weights.sum()))
    print(f"{gateway.next_ident} orders, {gateway.sent} bytes sent, volume {volumes[-1]:.2f}")
    for task in list(gateway.watchers):
        task.cancel()


if __name__ == "__main__":
    asyncio.run(serve())
