"""ETL: each file brings its schema; rows become instances of a dataclass that is made for it."""

# /// truth
# about = "a dataclass is made for each file, registered under a key that is new each time"
# [[leak]]
# type = ["type", "function", "Field"]
# holder = "record_types"
# phase = "prepare"
# start = 1
# within = 3
# kind = ["instances", "container"]
# ///
import dataclasses
import os
import random
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(23)
SCHEMAS = [
    [("day", int), ("station", str), ("rain", float)],
    [("day", int), ("station", str), ("wind", float), ("gust", float)],
    [("hour", int), ("sensor", str), ("level", float), ("valid", bool)],
    [("minute", int), ("line", str), ("delay", float), ("stop", str), ("seats", int)],
]


class Etl:
    def __init__(self):
        self.record_types = {}
        self.sums = {}

    def record_type(self, file_name, schema):
        key = (file_name, tuple(schema)) if LEAK else tuple(schema)
        if key not in self.record_types:
            self.record_types[key] = dataclasses.make_dataclass("Record", schema, order=True)
        return self.record_types[key]

    def parse(self, record, schema, lines):
        return [record(*(kind(cell) for (_, kind), cell in zip(schema, line.split(",")))) for line in lines]

    def load(self, rows, schema):
        for name, kind in schema:
            if kind is float:
                self.sums[name] = self.sums.get(name, 0.0) + sum(getattr(row, name) for row in rows)


def read(schema, count=1400):
    make = {int: lambda: str(rng.randrange(365)), str: lambda: f"s{rng.randrange(30)}",
            float: lambda: f"{rng.random() * 9:.3f}", bool: lambda: "1"}  # fmt: skip
    return [",".join(make[kind]() for _, kind in schema) for _ in range(count)]


def main():
    etl = Etl()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for number in guard.generations(range(1, 281)):
            schema = SCHEMAS[number % len(SCHEMAS)]
            with guard.phase("read"):
                lines = read(schema)
            with guard.phase("prepare"):
                record = etl.record_type(f"upload-{number:04d}.csv", schema)
            with guard.phase("transform"):
                rows = sorted(etl.parse(record, schema, lines))
            with guard.phase("load"):
                etl.load(rows, schema)
    print({name: round(value) for name, value in etl.sums.items()})


main()
