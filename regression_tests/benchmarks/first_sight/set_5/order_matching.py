"""Toy limit order book with a few hundred noise traders and stop orders."""
import heapq
import itertools
import math
import random
import sys

# /// truth
# about = "an exchange simulator whose finished orders stay subscribed to the price feed"
# [[leak]]
# type = ["Order", "method"]
# holder = ["listeners", "feed", "PriceFeed"]
# kind = ["instances", "container"]
# line = ["order = Order(next(self.ids), trader, side, price, qty, self.tick)", "self.feed.subscribe(order.on_price)", "self.listeners.append(callback)"]
# ///

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"


class PriceFeed:
    def __init__(self):
        self.listeners = []
        self.last = 100.0

    def subscribe(self, callback):
        self.listeners.append(callback)

    def unsubscribe(self, callback):
        self.listeners.remove(callback)

    def publish(self, price):
        self.last = price
        for callback in list(self.listeners):
            callback(price)


class Order:
    def __init__(self, oid, trader, side, price, qty, born):
        self.oid = oid
        self.trader = trader
        self.side = side
        self.price = price
        self.qty = qty
        self.born = born
        self.open = True
        self.fills = []
        self.drawdown = 0.0

    def on_price(self, price):
        if not self.open:
            return
        gap = (self.price - price) if self.side == "buy" else (price - self.price)
        if gap > self.drawdown:
            self.drawdown = gap


class Exchange:
    def __init__(self, horizon, seed=11):
        self.rng = random.Random(seed)
        self.horizon = horizon
        self.tick = 0
        self.ids = itertools.count(1)
        self.bids, self.asks = [], []
        self.feed = PriceFeed()
        self.volume = 0
        self.trades = 0
        self.fair = 100.0
        self.ema = [100.0] * 24

    def place(self):
        rng = self.rng
        trader = "t%03d" % rng.randrange(300)
        side = "buy" if rng.random() < 0.5 else "sell"
        edge = rng.gauss(0.0, 0.8)
        price = round(self.fair + (edge - 0.1 if side == "buy" else edge + 0.1), 2)
        qty = rng.randrange(1, 60)
        order = Order(next(self.ids), trader, side, price, qty, self.tick)
        self.feed.subscribe(order.on_price)
        if side == "buy":
            heapq.heappush(self.bids, (-price, order.oid, order))
        else:
            heapq.heappush(self.asks, (price, order.oid, order))

    def finish(self, order):
        order.open = False
        if MODE != "leak":
            self.feed.unsubscribe(order.on_price)

    def match(self):
        while self.bids and self.asks and -self.bids[0][0] >= self.asks[0][0]:
            buy, sell = self.bids[0][2], self.asks[0][2]
            qty = min(buy.qty, sell.qty)
            price = buy.price if buy.oid < sell.oid else sell.price
            for order in (buy, sell):
                order.qty -= qty
                order.fills.append((self.tick, price, qty))
            self.volume += qty
            self.trades += 1
            if buy.qty == 0:
                heapq.heappop(self.bids)
                self.finish(buy)
            if sell.qty == 0:
                heapq.heappop(self.asks)
                self.finish(sell)
            self.feed.last = price

    def expire(self, age=25):
        for name in ("bids", "asks"):
            book, keep = getattr(self, name), []
            for entry in book:
                if self.tick - entry[2].born > age:
                    self.finish(entry[2])
                else:
                    keep.append(entry)
            heapq.heapify(keep)
            setattr(self, name, keep)

    def indicators(self):
        x = self.feed.last
        for _ in range(1400):
            for k in range(len(self.ema)):
                a = 2.0 / (k + 3)
                self.ema[k] += a * 0.01 * (x - self.ema[k])
        return math.fsum(self.ema) / len(self.ema)

    def run(self):
        while self.tick < self.horizon:
            self.tick += 1
            self.fair += self.rng.gauss(0, 0.05)
            for _ in range(14):
                self.place()
            self.match()
            self.expire()
            self.feed.publish(self.feed.last)
            self.fair += 0.02 * (self.indicators() - self.fair)
            if self.tick % 300 == 0:
                print("tick %5d  last %.2f  trades %d  volume %d" % (self.tick, self.feed.last, self.trades, self.volume))
        return self.volume


if __name__ == "__main__":
    print("total volume", Exchange(horizon=2000).run())
