"""Replays trading ticks through a small matching engine with a risk gateway and execution algos."""
import heapq
import random
import sys
from array import array
from collections import deque

MODE = sys.argv[1]
TICKS = 160
SYMBOLS = ("ACME", "GLOBEX", "INITECH", "HOOLI")


class Order:
    __slots__ = ("oid", "client", "side", "price", "qty", "alive", "expires")

    def __init__(self, oid, client, side, price, qty, expires):
        self.oid, self.client, self.side, self.price, self.qty, self.expires = oid, client, side, price, qty, expires
        self.alive = True


class Book:
    def __init__(self, symbol):
        self.symbol, self.cancelled = symbol, 0
        self.bids, self.asks, self.live = [], [], {}

    def rest(self, order):
        heap, sign = (self.bids, -1) if order.side == "B" else (self.asks, 1)
        heapq.heappush(heap, (sign * order.price, order.oid, order))
        self.live[order.oid] = order

    def match(self, order):
        heap, sign = (self.asks, 1) if order.side == "B" else (self.bids, -1)
        fills = []
        while order.qty and heap:
            key, _, best = heap[0]
            if not best.alive:
                heapq.heappop(heap)
                continue
            if sign * order.price < key:
                break
            qty = min(order.qty, best.qty)
            order.qty, best.qty = order.qty - qty, best.qty - qty
            fills.append((self.symbol, best.price, qty))
            if not best.qty:
                self.live.pop(heapq.heappop(heap)[1], None)
        return fills

    def expire(self, tick):
        for order in [o for o in self.live.values() if o.expires <= tick]:
            self.live.pop(order.oid).alive = False
            self.cancelled += 1
        if MODE == "fixed" and self.cancelled > 150:
            self.bids = [entry for entry in self.bids if entry[2].alive]
            self.asks = [entry for entry in self.asks if entry[2].alive]
            heapq.heapify(self.bids)
            heapq.heapify(self.asks)
            self.cancelled = 0


class Feed:
    def __init__(self):
        self.listeners, self.tape = [], deque(maxlen=4000)

    def subscribe(self, callback):
        self.listeners.append(callback)

    def publish(self, trade):
        self.tape.append(trade)
        for callback in self.listeners:
            callback(trade)


class Gateway:
    def __init__(self, books, feed):
        self.books, self.feed = books, feed
        self.rejects, self.fees = {}, {}

    def check(self, order):
        if order.price * order.qty > 52_000:
            raise ValueError(f"{order.client}: notional of {order.oid} over the limit")

    def submit(self, batch):
        for symbol, order in batch:
            try:
                self.check(order)
            except ValueError as exc:
                if MODE == "fixed":
                    self.rejects[order.client] = str(exc)
                else:
                    self.rejects[order.client, order.oid] = exc
                continue
            self.fees[order.client, order.qty // 10] = 0.01 + order.qty // 10 * 0.002
            for trade in self.books[symbol].match(order):
                self.feed.publish(trade)
            if order.qty:
                self.books[symbol].rest(order)


class VwapAlgo:
    def __init__(self, symbol, curve):
        self.symbol, self.curve, self.notional, self.volume = symbol, curve, 0, 0

    def on_trade(self, trade):
        if trade[0] == self.symbol:
            self.notional += trade[1] * trade[2]
            self.volume += trade[2]


def run_algo(feed, gateway, symbol, orders):
    algo = VwapAlgo(symbol, array("d", (random.gauss(1, 0.1) for _ in range(2500))))
    on_trade = lambda trade: algo.on_trade(trade)
    feed.subscribe(on_trade)
    gateway.submit(orders)
    if MODE == "fixed":
        feed.listeners.remove(on_trade)
    return algo.notional / algo.volume if algo.volume else 0.0


def make_orders(tick, start, mids):
    orders = []
    for n in range(4700):
        symbol = SYMBOLS[n % 4]
        side = "BS"[n // 4 % 2]
        offset = random.uniform(8, 20) if n % 13 == 0 else random.gauss(0.0, 0.4)
        price = mids[symbol] - offset if side == "B" else mids[symbol] + offset
        qty = 700 if n == 300 else random.randint(1, 90)
        orders.append((symbol, Order(start + n, f"c{n % 60}", side, price, qty, tick + 3)))
    return orders


def main():
    random.seed(11)
    books = {symbol: Book(symbol) for symbol in SYMBOLS}
    gateway = Gateway(books, feed := Feed())
    mids = dict.fromkeys(SYMBOLS, 100.0)
    oid = vwap = 0
    for tick in range(TICKS):
        orders = make_orders(tick, oid, mids)
        oid += len(orders)
        gateway.submit(orders[:600])
        gateway.submit(orders[1200:])
        if tick >= 45:
            vwap = run_algo(feed, gateway, SYMBOLS[tick % 4], orders[600:1200])
        for symbol, book in books.items():
            book.expire(tick)
            mids[symbol] += 0.2 * (100 - mids[symbol]) + random.gauss(0, 0.2)
    print(len(feed.tape), len(gateway.fees), round(vwap, 3))


main()
