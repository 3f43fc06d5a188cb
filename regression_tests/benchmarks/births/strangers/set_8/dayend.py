"""Day-end reporting for a chain of shops: load sales, compute margins, render and spool the statements."""
import functools
import random
import sqlite3
import sys
import weakref
from collections import deque
from contextlib import ExitStack, closing

import numpy as np

MODE = sys.argv[1]
DAYS = 100
SKUS = 400


class PriceList:
    def __init__(self):
        self.cache = {}

    def __getitem__(self, sku):
        if sku not in self.cache:
            self.cache[sku] = (round(2 + sku % 37 * 1.35, 2), f"Article {sku:05d} " + "x" * (sku % 50))
        return self.cache[sku]


class DayBook:
    def __init__(self, day, rows):
        self.day = day
        self.units = np.zeros((SKUS, 24), dtype=np.float64)
        for sku, hour, qty, _ in rows:
            self.units[sku, hour] += qty

    @functools.lru_cache(maxsize=None)
    def peak_hour(self, group):
        return int(self.units[group::20].sum(axis=0).argmax())

    def smoothed(self):
        wide = np.repeat(self.units, 60, axis=1)
        kernel = np.ones(90) / 90
        return sum(float(np.convolve(row, kernel, "same").max()) for row in wide[::4])


class Statement:
    live = 0

    def __init__(self, shop, day):
        self.shop, self.day = shop, day
        self.text = bytearray()
        Statement.live += 1
        if MODE == "fixed":
            weakref.finalize(self, Statement.retire)
        else:
            weakref.finalize(self, self.discard)

    @classmethod
    def retire(cls):
        cls.live -= 1

    def discard(self):
        self.text.clear()
        self.retire()

    def line(self, *fields):
        self.text += ("|".join(str(f) for f in fields) + "\n").encode()


class Warehouse:
    def __init__(self, prices):
        self.prices = prices
        self.resources = ExitStack()

    def load(self, rows):
        db = sqlite3.connect(":memory:")
        db.execute("create table sale (sku integer, hour integer, qty integer, shop text)")
        db.executemany("insert into sale values (?, ?, ?, ?)", rows)
        db.execute("create index by_shop on sale (shop, sku)")
        self.resources.enter_context(closing(db))
        return db

    def finish_day(self):
        if MODE == "fixed":
            self.resources.close()


def sales_of(rng, day):
    count = 5000
    hours = [min(23, max(0, int(rng.gauss(14, 4)))) for _ in range(count)]
    return [(rng.randrange(SKUS), hour, rng.randint(1, 9), f"shop{rng.randrange(6)}") for hour in hours]


def statements(db, prices, day):
    total = 0
    query = "select sku, sum(qty), min(hour), max(hour) from sale where shop = ? group by sku"
    for shop in range(6):
        statement = Statement(shop, day)
        for sku, qty, first, last in db.execute(query, (f"shop{shop}",)):
            price, title = prices[sku]
            statement.line(sku, title, qty, f"{qty * price:.2f}", first, last)
        total += len(statement.text)
    return total


def staffing_audit(book):
    peaks = [book.peak_hour(group) for group in range(20)]
    for _ in range(3):
        peaks.sort(key=lambda hour: abs(hour - 14))
    if MODE == "fixed":
        DayBook.peak_hour.cache_clear()
    return peaks[0]


def main():
    rng = random.Random(23)
    prices = PriceList()
    warehouse = Warehouse(prices)
    week = deque(maxlen=7)
    spooled, peaks = 0, [0] * 24
    for day in range(1, DAYS + 1):
        rows = sales_of(rng, day)
        db = warehouse.load(rows)
        spooled += statements(db, prices, day)
        book = DayBook(day, rows)
        week.append((day, book.smoothed(), rows[:500]))
        if day > 40:
            peaks[staffing_audit(book)] += 1
        del db
        warehouse.finish_day()
    print(spooled, max(peaks), len(prices.cache), round(sum(w[1] for w in week), 2))


main()
