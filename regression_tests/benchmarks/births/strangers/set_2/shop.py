"""Discrete-event simulation of a corner shop; every customer is a generator."""
import csv
import heapq
import io
import itertools
import math
import random
import sys
import time
from decimal import Decimal

VARIANT = sys.argv[1]
rng = random.Random(2024)
CATALOGUE = {f"sku{i:03d}": Decimal(rng.randrange(50, 2000)) / 100 for i in range(120)}


class Till:
    def __init__(self):
        self.taken = Decimal(0)
        self.rows = []

    def pay(self, basket):
        total = sum((price for _, price, _ in basket), Decimal(0))
        self.taken += total
        self.rows.append((len(basket), str(total)))

    def close_day(self):
        out = io.StringIO()
        csv.writer(out).writerows(self.rows)
        self.rows.clear()
        return len(out.getvalue())


def customer(shop, name):
    basket = []
    for _ in range(rng.randrange(20, 60)):
        sku = rng.choice(list(CATALOGUE))
        basket.append((sku, CATALOGUE[sku] * 1, f"{name} picked {sku} at {shop.now:.2f}"))
        yield rng.expovariate(1.0)
    if len(basket) > 50:
        shop.wanting_coupon += 1
        yield math.inf  # until a coupon is handed out
    shop.till.pay(basket)


class Shop:
    def __init__(self):
        self.now = 0.0
        self.till = Till()
        self.calendar = []
        self.serial = itertools.count()
        self.wanting_coupon = 0

    def enter(self, process, at):
        heapq.heappush(self.calendar, (at, next(self.serial), process))

    def run_until(self, closing):
        while self.calendar and self.calendar[0][0] < closing:
            self.now, _, process = heapq.heappop(self.calendar)
            try:
                delay = next(process)
            except StopIteration:
                continue
            if VARIANT == "fixed" and delay == math.inf:
                process.close()  # goes home without buying
                continue
            heapq.heappush(self.calendar, (self.now + delay, next(self.serial), process))
        self.now = closing


shop = Shop()
takings = []
weekly = [0.0] * 7
for day in range(26):
    opening = shop.now
    for n in range(110):
        shop.enter(customer(shop, f"d{day}c{n}"), opening + rng.random() * 300)
    shop.run_until(opening + 600)
    size = shop.till.close_day()
    takings.append(float(shop.till.taken))
    weekly[day % 7] = size
    time.sleep(0.07)
print("takings", takings[-1], "coupons wanted", shop.wanting_coupon)
