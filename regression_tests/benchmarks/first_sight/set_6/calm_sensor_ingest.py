"""Collects sensor readings and writes them to sqlite in large batches."""
# /// truth
# about = "readings pile up in a buffer and are flushed to a database every 90 rounds"
# ///
import math
import os
import random
import sqlite3
import sys
import tempfile
from dataclasses import dataclass

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"


@dataclass
class Reading:
    sensor: int
    when: int
    value: float
    label: str


class Sensor:
    def __init__(self, number, seed):
        self.number = number
        self.rng = random.Random(seed + number)
        self.level = 20 + number % 7
        self.drift = 0.0

    def read(self, when):
        self.drift = 0.95 * self.drift + self.rng.gauss(0, 0.2)
        return self.level + 3 * math.sin(when / 60) + self.drift


class Ingest:
    def __init__(self, path, every):
        self.db = sqlite3.connect(path)
        self.db.execute("create table reading (sensor int, at int, value real, label text)")
        self.every = every
        self.pending = []
        self.flushes = 0

    def add(self, reading):
        self.pending.append(reading)

    def flush(self):
        rows = [(r.sensor, r.when, r.value, r.label) for r in self.pending]
        with self.db:
            self.db.executemany("insert into reading values (?, ?, ?, ?)", rows)
        self.pending.clear()
        self.flushes += 1

    def mean(self):
        return self.db.execute("select count(*), avg(value) from reading").fetchone()

    def close(self):
        self.flush()
        self.db.close()


def smooth(samples):
    samples = sorted(samples)
    cut = len(samples) // 4
    middle = samples[cut:-cut]
    return sum(middle) / len(middle)


def main():
    sensors = [Sensor(i, 500) for i in range(60)]
    with tempfile.TemporaryDirectory() as folder:
        ingest = Ingest(os.path.join(folder, "readings.db"), every=90)
        when = 0
        done = False
        while not done:
            for sensor in sensors:
                value = smooth([sensor.read(when) for _ in range(150)])
                label = f"s{sensor.number:03d}/{'high' if value > 24 else 'normal'}/{when:06d}"
                ingest.add(Reading(sensor.number, when, value, label))
            when += 1
            if when % ingest.every == 0:
                ingest.flush()
                count, mean = ingest.mean()
                print(f"round {when}: {count} rows, mean {mean:.3f}", flush=True)
            done = when >= 1000
        ingest.close()


if __name__ == "__main__":
    main()
