"""Keeps the events of the last days in an in-memory database and reports on them."""

# /// truth
# about = """rows of an SQLite database in memory that are not deleted when they are past the three
# generations that anybody asks for; no Python object, but pages of SQLite"""
# [[leak]]
# phase = "store"
# start = 2
# within = 4
# kind = ["native", "memory"]
# ///
import os
import random
import sqlite3
import sys

from leakguard import LeakGuard

DELETE_OLD = sys.argv[1] == "clean"
DAYS = 350
EVENTS = 500
KEPT_DAYS = 3

SCHEMA = """
CREATE TABLE event (day INTEGER, account INTEGER, kind TEXT, amount REAL, note TEXT);
CREATE INDEX event_by_day ON event (day, account);
"""
REPORT = """
SELECT kind, COUNT(*), SUM(amount), MAX(LENGTH(note)) FROM event
WHERE day > ? GROUP BY kind ORDER BY kind
"""


class Ledger:
    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:")
        self.database.executescript(SCHEMA)

    def store(self, day: int, events: list[tuple[int, str, float, str]]) -> None:
        with self.database:
            self.database.executemany(
                "INSERT INTO event VALUES (?, ?, ?, ?, ?)",
                ((day, *event) for event in events),
            )
            if DELETE_OLD:
                self.database.execute("DELETE FROM event WHERE day <= ?", (day - KEPT_DAYS,))

    def report(self, day: int) -> list[tuple]:
        return self.database.execute(REPORT, (day - KEPT_DAYS,)).fetchall()

    def largest(self, day: int, account: int) -> float:
        row = self.database.execute(
            "SELECT MAX(amount) FROM event WHERE day = ? AND account = ?", (day, account)
        ).fetchone()
        return row[0] or 0.0


def events_of_a_day(draw: random.Random) -> list[tuple[int, str, float, str]]:
    kinds = ("order", "refund", "transfer", "fee")
    words = ("late", "paid", "checked", "open", "manual", "urgent", "closed", "split")
    return [
        (
            draw.randrange(80),
            draw.choice(kinds),
            round(draw.lognormvariate(3.0, 1.0), 2),
            " ".join(draw.choices(words, k=30)),
        )
        for _ in range(EVENTS)
    ]


def main() -> None:
    draw = random.Random(23)
    ledger = Ledger()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for day in guard.generations(range(1, DAYS + 1)):
            with guard.phase("receive"):
                events = events_of_a_day(draw)
            with guard.phase("store"):
                ledger.store(day, events)
            with guard.phase("report"):
                for _ in range(5):
                    assert len(ledger.report(day)) == 4
                highest = max(ledger.largest(day, account) for account in range(80))
                assert highest > 0.0


if __name__ == "__main__":
    main()
