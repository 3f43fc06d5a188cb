"""A market data feed: rebuild the books from the wire, then build bars after the open."""
import gc
import random
import struct
import sys
import time
from collections import defaultdict, deque

import numpy as np

WITH_LEAK = sys.argv[1] == "leak"
SYMBOLS = ["ALFA", "BRVO", "CHRL", "DLTA", "ECHO", "FOXT"]
WIRE = struct.Struct("<HIdI")
rng = random.Random(99)
gc.disable()  # no pauses in the hot path


class Level:
    def __init__(self, price):
        self.price = price
        self.orders = []


class Order:
    __slots__ = ("ident", "qty", "level")

    def __init__(self, ident, qty, level):
        self.ident = ident
        self.qty = qty
        self.level = level


class Book:
    def __init__(self, symbol):
        self.symbol = symbol
        self.levels = {}

    def add(self, ident, price, qty):
        level = self.levels.get(price)
        if level is None:
            level = self.levels[price] = Level(price)
        level.orders.append(Order(ident, qty, level))

    def depth(self):
        return sum(order.qty for level in self.levels.values() for order in level.orders)

    def drop(self):
        if not WITH_LEAK:
            for level in self.levels.values():
                level.orders.clear()
        self.levels = {}


def packets(n):
    return b"".join(
        WIRE.pack(rng.randrange(len(SYMBOLS)), k, 100 + rng.randrange(40) / 4, rng.randrange(1, 500)) for k in range(n)
    )


books = {s: Book(s) for s in SYMBOLS}
tape = defaultdict(list) if WITH_LEAK else defaultdict(lambda: deque(maxlen=2))
spreads = deque(maxlen=500)
vwap = {}


def session_minute(minute):
    for index, ident, price, qty in WIRE.iter_unpack(packets(2500)):
        books[SYMBOLS[index]].add(ident, price, qty)
    for symbol, book in books.items():
        spreads.append(book.depth())
    if minute >= 15:
        for symbol in SYMBOLS:
            ticks = 100 + np.cumsum(np.random.default_rng(minute).normal(size=36_000))
            tape[symbol].append(ticks)
            vwap[symbol] = float(ticks.mean())


minute = 0
while minute < 50:
    session_minute(minute)
    for book in books.values():
        book.drop()
    minute += 1
    time.sleep(0.02)
print("vwap", round(sum(vwap.values()), 2), "kept", sum(len(t) for t in tape.values()))
