"""K-way merge of sorted local files, partition by partition, with resumable readers."""
import heapq
import os
import random
import sys
import tempfile
from functools import lru_cache
from itertools import islice

mode = sys.argv[1]
PARTITIONS = 72
FILES = 6
ROWS = 20_000


def write_files(folder):
    rng = random.Random(9)
    paths = []
    for f in range(FILES):
        keys = sorted(rng.randrange(1_000_000) for _ in range(ROWS))
        path = os.path.join(folder, f"part{f}.csv")
        with open(path, "w") as out:
            out.writelines(f"{k},file{f},{rng.random():.6f}\n" for k in keys)
        paths.append(path)
    return paths


def rows(path):
    """Yields (key, name, value) of a sorted file; reads ahead in blocks."""
    handle = open(path, buffering=16384)
    try:
        while block := handle.readlines(8192):
            for line in block:
                key, name, value = line.split(",")
                yield int(key), name, float(value)
    finally:
        handle.close()


class Partition:
    """A slice of the key space with its histogram."""

    def __init__(self, number, merged):
        self.number = number
        self.items = merged

    @lru_cache(maxsize=None if mode == "leak" else 8)
    def bucket_sums(self, buckets):
        sums = [0.0] * buckets
        for key, _, value in self.items:
            sums[key * buckets // 1_000_001] += value
        return sums

    def spread(self):
        sums = self.bucket_sums(20)
        return max(sums) - min(sums)


class Merger:
    def __init__(self, paths):
        self.paths = paths
        self.readers = {}

    def open_readers(self, number):
        readers = [rows(p) for p in self.paths]
        self.readers[number] = readers
        return readers

    def release(self, number):
        for reader in self.readers.pop(number):
            reader.close()

    def take(self, number, limit):
        readers = self.open_readers(number)
        skip = (number * 3701) % 90_000
        merged = heapq.merge(*readers)
        picked = list(islice(merged, skip, skip + limit))
        if mode == "fixed":
            self.release(number)
        return Partition(number, picked)


def process(merger, number):
    partition = merger.take(number, 1200)
    return partition.spread()


with tempfile.TemporaryDirectory() as folder:
    merger = Merger(write_files(folder))
    spreads = {}
    for number in range(PARTITIONS):
        spreads[number % 16] = process(merger, number)
        if number % 10 == 0:
            print(f"partition {number}: spread {spreads[number % 16]:.2f}", flush=True)
    print(f"largest spread {max(spreads.values()):.2f}")
