"""A market simulation: day traders come every morning, their fills are settled in the evening."""
import os
import random
import sys
import time
from collections import deque

from leakguard import LeakGuard

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
DAYS = 30
TICKS = 400


class TickBus:
    def __init__(self):
        self.subscribers = {"tick": [], "close": []}

    def subscribe(self, topic, callback):
        self.subscribers[topic].append(callback)

    def unsubscribe(self, topic, callback):
        self.subscribers[topic].remove(callback)

    def publish(self, topic, *args):
        for callback in self.subscribers[topic]:
            callback(*args)


class DayTrader:
    """Buys below its own moving mean, for one day."""

    def __init__(self, day, bias):
        self.day = day
        self.bias = bias
        self.quotes = []
        self.fills = []

    def on_tick(self, day, price):
        if day != self.day:
            return
        quote = price * self.bias
        self.quotes.append(quote)
        window = self.quotes[-25:]
        if quote < sum(window) / len(window) - 0.2:
            self.fills.append((day, quote))


class Ticket:
    def __init__(self, day, price, rng):
        self.day = day
        self.price = price
        self.reference = f"{day:04d}-{rng.getrandbits(64):016x}"


class Index:
    """The last closing prices, and the opening price by weekday."""

    def __init__(self):
        self.closes = deque(maxlen=10)
        self.by_weekday = {}

    def on_close(self, day, path):
        self.closes.append(path[-1])
        self.by_weekday[day % 7] = path[: TICKS // 2]


def write_tickets(fills, rng):
    return [Ticket(day, price, rng) for day, price in fills]


def settle(fills, rng, ledger=[]):
    """Writes the day's tickets into the ledger; the day's total comes back."""
    ledger.extend(write_tickets(fills, rng))
    day = fills[-1][0] if fills else None
    return sum(ticket.price for ticket in ledger if ticket.day == day)


def price_path(rng, start):
    price, path = start, []
    for _ in range(TICKS):
        price = max(1.0, price + rng.gauss(0.0, 0.4))
        path.append(price)
    return path


def trade_day(bus, rng, day, start):
    path = price_path(rng, start)
    for price in path:
        bus.publish("tick", day, price)
    time.sleep(0.03)
    bus.publish("close", day, path)
    return path[-1]


def main():
    rng = random.Random(12)
    bus, index = TickBus(), Index()
    bus.subscribe("close", index.on_close)
    price, turnover = 100.0, 0.0
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for day in guard.generations(range(DAYS)):
            with guard.phase("open"):
                traders = [DayTrader(day, 1.0 + 0.01 * i) for i in range(12)]
                for trader in traders:
                    bus.subscribe("tick", trader.on_tick)
            with guard.phase("trade"):
                price = trade_day(bus, rng, day, price)
            with guard.phase("settle"):
                fills = [fill for trader in traders for fill in trader.fills]
                if MODE == "leak":
                    turnover += settle(fills, rng)
                else:
                    turnover += settle(fills, rng, [])
                    for trader in traders:
                        bus.unsubscribe("tick", trader.on_tick)
    print(f"close {price:.2f}, turnover {turnover:.0f}, mean close {sum(index.closes) / len(index.closes):.2f}")


if __name__ == "__main__":
    main()
