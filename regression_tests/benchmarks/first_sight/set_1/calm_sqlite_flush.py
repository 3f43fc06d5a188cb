"""Experiment tracking: metric rows gather in memory and go to sqlite in batches."""
# /// truth
# about = "rows pile up for 25 generations and are flushed to the database then"
# ///
import math
import os
import random
import sqlite3
import sys
import tempfile
from dataclasses import astuple, dataclass

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 210


@dataclass(slots=True)
class Row:
    step: int
    name: str
    value: float
    note: str


class Tracker:
    def __init__(self, path, every):
        self.connection = sqlite3.connect(path)
        self.connection.execute("create table metrics (step, name, value, note)")
        self.pending = []
        self.every = every

    def add(self, row):
        self.pending.append(row)

    def flush(self, step):
        if step % self.every:
            return
        with self.connection:
            self.connection.executemany("insert into metrics values (?, ?, ?, ?)", map(astuple, self.pending))
        self.pending.clear()


def simulate(chance):
    angle, speed, energy = chance.random(), 0.0, 0.0
    for _ in range(150_000):
        speed += -0.01 * math.sin(angle) - 1e-4 * speed
        angle += 0.01 * speed
        energy += speed * speed
    return energy


def main():
    chance = random.Random(18)
    with tempfile.TemporaryDirectory() as folder:
        tracker = Tracker(os.path.join(folder, "metrics.db"), every=25)
        guard = LeakGuard(out=os.environ["RUN_FILE"])
        with guard:
            for step in guard.generations(range(1, GENERATIONS + 1)):
                with guard.phase("simulate"):
                    energy = simulate(chance)
                with guard.phase("track"):
                    for number in range(120):
                        tracker.add(Row(step, f"layer{number}.norm", energy / (number + 1), f"{step}/{number}" * 3))
                with guard.phase("flush"):
                    tracker.flush(step)
        tracker.connection.close()


main()
