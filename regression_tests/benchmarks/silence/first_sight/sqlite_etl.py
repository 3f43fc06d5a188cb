"""ETL without pandas: stage each daily batch in an in-memory SQLite database, then merge."""
import random
import sqlite3
import sys
from collections import defaultdict

MODE = sys.argv[1]
DAYS = 55
ROWS = 14_000


class Staging:
    """One scratch database per batch, looked up by its name."""

    def __init__(self):
        self.databases = {}

    def connection(self, batch):
        if batch not in self.databases:
            db = sqlite3.connect(":memory:")
            db.execute("CREATE TABLE events (user INTEGER, kind TEXT, value REAL, note TEXT)")
            db.execute("CREATE INDEX by_user ON events (user)")
            self.databases[batch] = db
        return self.databases[batch]

    def drop(self, batch):
        db = self.databases.pop(batch)
        db.close()

    def truncate(self, batch):
        # the batch is merged, its staged rows are not needed any more
        self.databases[batch].commit()


def extract(day):
    rng = random.Random(day * 17)
    for i in range(ROWS):
        yield (rng.randrange(500), rng.choice(("view", "click", "buy")), rng.random() * 100, f"note {i % 50:08d}")


class Warehouse:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE TABLE totals (user INTEGER, kind TEXT, n INTEGER, total REAL, PRIMARY KEY (user, kind))")
        self.last_seen = defaultdict(int)

    def merge(self, rows, day):
        self.db.executemany(
            "INSERT INTO totals VALUES (?, ?, ?, ?) ON CONFLICT (user, kind) "
            "DO UPDATE SET n = n + excluded.n, total = total + excluded.total", rows)
        self.db.commit()
        for user, *_ in rows:
            self.last_seen[user] = day

    def best(self):
        return self.db.execute("SELECT user, round(total, 1) FROM totals WHERE kind = 'buy' ORDER BY total DESC LIMIT 1").fetchone()


def process_day(day, staging, warehouse):
    batch = f"2024-{day // 28 + 1:02d}-{day % 28 + 1:02d}"
    db = staging.connection(batch)
    db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", extract(day))
    rows = db.execute("SELECT user, kind, count(*), sum(value) FROM events GROUP BY user, kind").fetchall()
    warehouse.merge(rows, day)
    if MODE == "leak":
        staging.truncate(batch)
    else:
        staging.drop(batch)
    return len(rows)


def main():
    staging, warehouse = Staging(), Warehouse()
    for day in range(DAYS):
        groups = process_day(day, staging, warehouse)
        if day % 10 == 0:
            print(f"day {day}: {groups} groups, best {warehouse.best()}", flush=True)
    print("users:", len(warehouse.last_seen), "best:", warehouse.best())


main()
