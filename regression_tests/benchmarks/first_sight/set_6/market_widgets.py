"""Replays a day of ticks and refreshes one dashboard panel per minute bar."""
# /// truth
# about = "a dashboard whose panels stay subscribed to the price feed after they are replaced"
# [[leak]]
# type = ["Panel", "method"]
# holder = ["listeners", "feed"]
# kind = "instances"
# line = ["panel = Panel(symbol, feed)", "feed.subscribe(self.on_tick)", "self.listeners.append(fn)"]
# ///
import random
import statistics
import sys

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
SYMBOLS = ["ABX", "CNR", "ENB", "SHOP", "TD"]


class Feed:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.price = {s: 50.0 + 10 * i for i, s in enumerate(SYMBOLS)}
        self.listeners = []

    def subscribe(self, fn):
        self.listeners.append(fn)

    def unsubscribe(self, fn):
        self.listeners.remove(fn)

    def tick(self):
        symbol = self.rng.choice(SYMBOLS)
        self.price[symbol] *= 1 + self.rng.gauss(0, 0.0004)
        for fn in self.listeners:
            fn(symbol, self.price[symbol])


class Panel:
    def __init__(self, symbol, feed):
        self.symbol = symbol
        self.closed = False
        self.points = []
        self.feed = feed
        feed.subscribe(self.on_tick)

    def on_tick(self, symbol, price):
        if self.closed or symbol != self.symbol:
            return
        self.points.append(price)

    def summary(self):
        if len(self.points) < 3:
            return 0.0, 0.0
        window = self.points
        smooth = [sum(window[max(0, i - 9):i + 1]) / (i + 1 - max(0, i - 9))
                  for i in range(len(window))]
        return statistics.fmean(smooth), statistics.pstdev(smooth)

    def close(self):
        self.closed = True
        if MODE != "leak":
            self.feed.unsubscribe(self.on_tick)


def ema_table(values):
    table = []
    for span in range(2, 40):
        a = 2 / (span + 1)
        acc = values[0]
        for v in values:
            acc = a * v + (1 - a) * acc
        table.append(acc)
    return table


def main():
    feed = Feed(11)
    shown = []
    for minute in range(320):
        symbol = SYMBOLS[minute % len(SYMBOLS)]
        panel = Panel(symbol, feed)
        for _ in range(1300):
            feed.tick()
        mean, dev = panel.summary()
        for _ in range(34):
            emas = ema_table(panel.points)
        panel.close()
        shown = [(symbol, round(mean, 3), round(dev, 4), round(emas[5], 3))] + shown[:9]
        if minute % 50 == 0:
            print(f"minute {minute:4d} {symbol:5s} mean {mean:8.3f} dev {dev:.4f}", flush=True)
    print("last panels:", shown[:3])


if __name__ == "__main__":
    main()
