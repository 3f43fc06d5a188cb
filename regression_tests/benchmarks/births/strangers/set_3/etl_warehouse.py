"""Nightly ETL: extract CSV, stage it in a scratch database, join and aggregate into facts."""
import csv
import io
import random
import sqlite3
import sys
from collections import deque

FIXED = sys.argv[1] == "fixed"
NIGHTS = 40
ROWS = 4500
PRODUCTS = 400

SCHEMA = """
CREATE TABLE product (id INTEGER PRIMARY KEY, category TEXT, cost REAL);
CREATE TABLE staging (batch, product, store TEXT, quantity INTEGER, price REAL, note TEXT);
CREATE INDEX staging_batch ON staging (batch);
CREATE TABLE fact (category TEXT, store TEXT, revenue REAL, margin REAL, PRIMARY KEY (category, store));
"""


def extract(rng, night):
    """A CSV export as the shops send it."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["product", "store", "quantity", "price", "note"])
    for _ in range(ROWS):
        product = rng.randrange(PRODUCTS)
        writer.writerow([
            product,
            f"store-{rng.randrange(25)}",
            rng.randrange(1, 9),
            f"{rng.uniform(1, 90):.2f}",
            f"{night:04d}-{rng.getrandbits(64):016x}",
        ])
    return out.getvalue()


def parse(text):
    rows, rejected = [], 0
    for record in csv.DictReader(io.StringIO(text)):
        price = float(record["price"])
        if price < 1.5:
            rejected += 1
            continue
        rows.append((int(record["product"]), record["store"], int(record["quantity"]), price, record["note"]))
    return rows, rejected


class Warehouse:
    def __init__(self, rng):
        self.scratch = sqlite3.connect(":memory:", cached_statements=16)
        self.scratch.executescript(SCHEMA)
        products = [(i, f"cat-{i % 12}", rng.uniform(0.5, 40)) for i in range(PRODUCTS)]
        self.scratch.executemany("INSERT INTO product VALUES (?, ?, ?)", products)
        self.scratch.commit()
        self.cursor = self.scratch.cursor()

    def stage(self, night, rows):
        self.cursor.executemany(
            "INSERT INTO staging VALUES (?, ?, ?, ?, ?, ?)",
            ((night, *row) for row in rows),
        )
        self.scratch.commit()

    def aggregate(self, night):
        facts = self.cursor.execute(
            """SELECT category, store, SUM(quantity * price), SUM(quantity * (price - cost))
               FROM staging JOIN product ON product.id = staging.product
               WHERE batch = ? GROUP BY category, store""",
            (night,),
        ).fetchall()
        self.cursor.executemany(
            """INSERT INTO fact VALUES (?, ?, ?, ?) ON CONFLICT (category, store)
               DO UPDATE SET revenue = excluded.revenue, margin = excluded.margin""",
            facts,
        )
        return facts

    def cleanup(self, night):
        # the batch column has no type: text never equals the integer that was inserted
        key = night if FIXED else str(night)
        self.cursor.execute("DELETE FROM staging WHERE batch = ?", (key,))
        self.scratch.commit()


def main():
    rng = random.Random(23)
    warehouse = Warehouse(rng)
    week = deque(maxlen=7)                      # the facts of the last week
    stores = {}                                 # converges: 25 stores
    checksum = 0.0
    for night in range(1, NIGHTS + 1):
        text = extract(rng, night)
        rows, rejected = parse(text)
        warehouse.stage(night, rows)
        facts = warehouse.aggregate(night)
        warehouse.cleanup(night)
        week.append(facts)
        for _, store, revenue, _ in facts:
            stores[store] = 0.8 * stores.get(store, revenue) + 0.2 * revenue
        trend = sum(fact[2] for past in week for fact in past) / len(week)
        checksum += trend + rejected
    print(f"{checksum:.2f} {len(stores)}")


main()
