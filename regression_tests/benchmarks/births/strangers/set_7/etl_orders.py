"""Nightly ETL of shop orders: extract, stage in SQLite on a worker thread, load, write an audit log."""
import concurrent.futures
import csv
import io
import os
import random
import sqlite3
import tempfile
import threading

BATCHES = 240
ORDERS = 400
local = threading.local()


def extract(batch, rng):
    """The CSV export of one batch, parsed."""
    text = io.StringIO()
    writer = csv.writer(text)
    for order in range(ORDERS * 8):
        writer.writerow([batch * 100_000 + order, f"sku-{rng.randrange(500)}", rng.randrange(1, 9), rng.random() * 50])
    text.seek(0)
    return [(int(number), sku, int(count), float(price)) for number, sku, count, price in csv.reader(text)]


def staging_connection():
    """A private staging database for the batch, kept for this thread."""
    if not hasattr(local, "connections"):
        local.connections = []
    connection = sqlite3.connect(":memory:")
    local.connections.append(connection)
    return connection


def stage(rows):
    connection = staging_connection()
    connection.execute("create table stage (number integer, sku text, count integer, price real)")
    connection.executemany("insert into stage values (?, ?, ?, ?)", rows[:ORDERS * 3])
    connection.commit()
    return connection.execute("select sku, sum(count), sum(count * price) from stage group by sku").fetchall()


class Catalogue:
    """Names of articles: there are 500, and then it is full."""

    def __init__(self):
        self.names = {}

    def name(self, sku):
        if sku not in self.names:
            self.names[sku] = {"sku": sku, "title": f"Article {sku} " * 4, "tags": [sku, sku.upper()]}
        return self.names[sku]["title"]


class Loader:
    def __init__(self, path):
        self.warehouse = sqlite3.connect(path)
        self.warehouse.execute("create table sales (sku text primary key, title text, count integer, total real)")
        self.returns_seen = {}
        self.rejected = 0

    def load(self, catalogue, totals):
        self.warehouse.executemany(
            "insert into sales values (?, ?, ?, ?) on conflict (sku) do update set "
            "count = count + excluded.count, total = total + excluded.total",
            [(sku, catalogue.name(sku), count, total) for sku, count, total in totals])
        self.warehouse.commit()

    def take_returns(self, rows):
        """Count every return once, though the feed repeats itself within a batch."""
        for number, sku, count, price in rows[:60] + rows[:60]:
            key = (number, sku)
            if key in self.returns_seen:
                self.rejected += 1
                continue
            self.returns_seen[key] = {"count": count, "refund": price * count, "note": f"return of {number}"}


class Audit:
    def __init__(self, path):
        self.pending = bytearray()
        self.path = path

    def note(self, rows):
        for number, sku, count, price in rows[:250]:
            self.pending.extend(b"%d;%s;%d;%.2f\n" % (number, sku.encode(), count, price))

    def flush(self):
        with open(self.path, "wb") as file:
            file.write(self.pending)


def run_batch(batch, rng, pool, catalogue, loader, audit):
    rows = extract(batch, rng)
    totals = pool.submit(stage, rows).result()
    loader.load(catalogue, totals)
    if batch > 80:
        loader.take_returns(rows)
    audit.note(rows)
    audit.flush()


def main():
    rng = random.Random(5)
    catalogue = Catalogue()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
        loader = Loader(os.path.join(folder, "warehouse.db"))
        audit = Audit(os.path.join(folder, "audit.log"))
        for batch in range(1, BATCHES + 1):
            run_batch(batch, rng, pool, catalogue, loader, audit)
        print("batches", batch, "rejected", loader.rejected, "articles", len(catalogue.names))
        loader.warehouse.close()


main()
