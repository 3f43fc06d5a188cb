"""A reporting API with pages: a cursor is a generator that waits for the next request. Most clients read to
the end, some look at the first page and go."""

# /// truth
# about = "server-side cursors (suspended generators) of clients who left stay open"
# [[leak]]
# type = "generator"
# holder = "open_cursors"
# phase = "query"
# start = 1
# within = 3
# kind = ["instances", "container"]
# ///
import os
import random
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(2)

ORDERS = [
    {"id": number, "customer": number % 97, "total": rng.randint(1, 900), "city": rng.choice(["Ulm", "Kiel", "Jena"])}
    for number in range(2500)
]


def pages(rows, order, size):
    result = sorted((dict(row, gross=row["total"] * 1.19) for row in rows), key=order)
    for first in range(0, len(result), size):
        yield result[first : first + size]


class ReportApi:
    def __init__(self):
        self.open_cursors = {}
        self.next_token = 0

    def query(self, city, modulus):
        self.next_token += 1
        token = f"c{self.next_token:06d}"
        rows = [row for row in ORDERS if row["city"] == city and row["customer"] % modulus == 0]
        self.open_cursors[token] = pages(rows, lambda row: (-row["total"], row["id"]), 25)
        return token

    def fetch(self, token):
        try:
            return next(self.open_cursors[token])
        except StopIteration:
            del self.open_cursors[token]
            return None

    def disconnect(self, token):
        if not LEAK:
            self.open_cursors.pop(token, None)


def main():
    api = ReportApi()
    shown = 0.0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, 261)):
            with guard.phase("query"):
                tokens = [api.query(rng.choice(["Ulm", "Kiel", "Jena"]), rng.randint(6, 9)) for _ in range(28)]
                first = [api.fetch(token) for token in tokens]
                shown += sum(row["gross"] for page in first for row in page or ())
            with guard.phase("browse"):
                for client, token in enumerate(tokens):
                    if client % 7 == 0:  # has seen enough
                        api.disconnect(token)
                        continue
                    while (page := api.fetch(token)) is not None:
                        shown += sum(row["gross"] for row in page)
                    api.disconnect(token)
    print("shown", round(shown))


main()
