"""A dashboard: panels subscribe to a bus of prices, draw, and are closed when the user changes the page."""

# /// truth
# about = "an event bus that keeps the bound methods of closed panels"
# [[leak]]
# type = "Panel"
# holder = "handlers"
# phase = "open_page"
# start = 1
# within = 3
# kind = "instances"
# ///
import math
import os
import random
import sys
from collections import defaultdict

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
random.seed(5)


class Bus:
    def __init__(self):
        self.handlers = defaultdict(list)

    def on(self, event, handler):
        self.handlers[event].append(handler)

    def off(self, event, handler):
        self.handlers[event].remove(handler)

    def emit(self, event, *args):
        for handler in list(self.handlers[event]):
            handler(*args)


class Panel:
    def __init__(self, bus, symbol):
        self.bus, self.symbol, self.visible = bus, symbol, True
        self.points = []
        bus.on("price", self.on_price)

    def on_price(self, symbol, price):
        if self.visible and symbol == self.symbol:
            self.points.append(price)

    def draw(self):
        mean = sum(self.points) / len(self.points)
        return math.sqrt(sum((point - mean) ** 2 for point in self.points) / len(self.points))

    def close(self):
        self.visible = False
        if not LEAK:
            self.bus.off("price", self.on_price)


def main():
    bus = Bus()
    symbols = ["ABC", "DEF", "GHI"]
    prices = dict.fromkeys(symbols, 100.0)
    drawn = 0.0
    guard = LeakGuard(watch={Panel: 3}, out=os.environ["RUN_FILE"])
    with guard:
        for page in guard.generations(range(1, 181)):
            with guard.phase("open_page"):
                panels = [Panel(bus, symbol) for symbol in symbols]
            with guard.phase("stream"):
                for _ in range(120):
                    for symbol in symbols:
                        prices[symbol] *= math.exp(random.gauss(0, 1e-3))
                        bus.emit("price", symbol, prices[symbol])
            with guard.phase("draw"):
                for _ in range(300):
                    drawn += sum(panel.draw() for panel in panels)
            with guard.phase("close_page"):
                for panel in panels:
                    panel.close()
    print("drawn", round(drawn, 1))


main()
