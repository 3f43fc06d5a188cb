"""Loads order files into a small warehouse: parse, clean, convert, stage, merge."""
import csv
import io
import random
import sqlite3
import sys
from collections import OrderedDict

TIDY = sys.argv[1] == "fixed"
BATCHES = 120
ROWS = 1300
RATES = {"EUR": 1.0, "USD": 0.92, "GBP": 1.17, "CHF": 1.04}
STREETS = ("Main St", "High St", "Station Rd", "Mill Ln", "Park Ave")


class Feed:
    """The order files, regenerated from a seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.addresses = [f"{self.rng.randint(1, 300)} {self.rng.choice(STREETS)}; {self.rng.randint(10000, 99999)} Town{i % 40}"
                          for i in range(350)]

    def file(self, number):
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["order", "stamp", "sku", "amount", "currency", "address"])
        for i in range(ROWS):
            currency = self.rng.choice(tuple(RATES))
            if number >= 29 and i % 400 == 17:
                currency = "XBT"
            writer.writerow([number * ROWS + i, f"2024-{number % 12 + 1:02d}-{i % 28 + 1:02d}T{i % 24:02d}:{number % 60:02d}:{i % 60:02d}.{i:04d}",
                             f"sku{self.rng.randint(1, 400)}", f"{self.rng.uniform(1, 300):.2f}", currency,
                             self.rng.choice(self.addresses)])
        return out.getvalue()


class Addresses:
    """Splits addresses; the same customers come again and again, so what was split is remembered."""

    def __init__(self):
        self.known = {}

    def split(self, row):
        key = row["address"] if TIDY else (row["address"], row["stamp"], row["order"])
        found = self.known.get(key)
        if found is None:
            street, town = row["address"].split(";")
            number, _, name = street.strip().partition(" ")
            code, _, place = town.strip().partition(" ")
            found = self.known[key] = (number, name.title(), code, place.upper())
        return found


class Warehouse:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE TABLE staging (batch, orderno INTEGER, sku TEXT, euros REAL, place TEXT)")
        self.db.execute("CREATE INDEX by_batch ON staging (batch)")
        self.db.execute("CREATE TABLE sales (sku TEXT, place TEXT, euros REAL, orders INTEGER, PRIMARY KEY (sku, place))")

    def load(self, number, rows):
        batch = number if TIDY else f"{number:05d}"
        self.db.executemany("INSERT INTO staging VALUES (?, ?, ?, ?, ?)", [(batch, *row) for row in rows])
        self.db.execute("INSERT INTO sales SELECT sku, substr(place, 1, 5), sum(euros), count(*) FROM staging WHERE batch = ? "
                        "GROUP BY 1, 2 ON CONFLICT DO UPDATE SET euros = euros + excluded.euros, "
                        "orders = orders + excluded.orders", (batch,))
        self.db.execute("DELETE FROM staging WHERE batch <= ?", (number - 4,))
        self.db.commit()

    def total(self):
        return self.db.execute("SELECT sum(euros), sum(orders) FROM sales").fetchone()


class Pipeline:
    def __init__(self):
        self.addresses = Addresses()
        self.warehouse = Warehouse()
        self.rejected = []
        self.last_files = OrderedDict()

    def convert(self, row):
        return float(row["amount"]) * RATES[row["currency"]]

    def clean(self, number, text):
        rows = list(csv.DictReader(io.StringIO(text)))
        cleaned = []
        for row in rows:
            try:
                euros = self.convert(row)
            except KeyError as problem:
                self.rejected.append(f"{number}: {problem}" if TIDY else problem)
                continue
            place = self.addresses.split(row)[3] if int(row["order"]) % 3 == 0 else ""
            cleaned.append((int(row["order"]), row["sku"], euros, place))
        return cleaned

    def process(self, number, text):
        self.last_files[number] = text
        if len(self.last_files) > 5:
            self.last_files.popitem(last=False)
        rows = self.clean(number, text)
        self.warehouse.load(number, rows)
        return len(rows)


def main():
    feed = Feed(3)
    pipeline = Pipeline()
    loaded = 0
    for number in range(1, BATCHES + 1):
        text = feed.file(number)
        loaded += pipeline.process(number, text)
        quality = [sum(place * code for place, code in enumerate(line.encode())) % 97 for line in text.splitlines()]
        checksum = sum(abs(one - other) for one, other in zip(sorted(quality), quality))
        for line in text.splitlines()[1::2]:
            checksum ^= sum(ord(letter) << place % 8 for place, letter in enumerate(line))
        if number % 30 == 0:
            euros, orders = pipeline.warehouse.total()
            print(f"batch {number}: {loaded} rows, {orders} orders, {euros:.0f} EUR, "
                  f"{len(pipeline.rejected)} rejected, checksum {checksum}")


if __name__ == "__main__":
    main()
