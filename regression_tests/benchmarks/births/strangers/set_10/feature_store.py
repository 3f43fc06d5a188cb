"""A feature store's daily job: ingest events, refresh views, answer lookups, write segments."""
import mmap
import os
import shutil
import sys
import tempfile
import weakref
import zlib
from collections import defaultdict, deque

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

TIDY = sys.argv[1] == "fixed"
DAYS = 90
ENTITIES = 400
WIDTH = 72
ROTATE_FROM = 30
SEGMENT_ROWS = 900


def drop_scratch(path):
    if os.path.exists(path):
        os.unlink(path)


class Snapshot:
    """The features of one day as training reads them, with a scratch file beside it."""

    def __init__(self, folder, day, values):
        self.path = os.path.join(folder, f"scratch-{day}")
        self.values = values.copy()
        with open(self.path, "w") as scratch:
            scratch.write(f"{day}\n")
        if TIDY:
            weakref.finalize(self, drop_scratch, self.path)
        else:
            weakref.finalize(self, self.drop)

    def drop(self):
        drop_scratch(self.path)


class Bus:
    def __init__(self):
        self.listeners = defaultdict(list)

    def on(self, topic, call):
        self.listeners[topic].append(call)

    def off(self, topic, call):
        self.listeners[topic].remove(call)

    def send(self, topic, *args):
        for call in self.listeners[topic]:
            call(*args)


class JoinedView:
    """One day's join of two feature groups; keeps its columns centred while it is in use."""

    def __init__(self, bus, values, rng):
        self.bus = bus
        self.columns = values[:, rng.permutation(WIDTH)[:30]].copy()
        self.shift = np.zeros(30)
        bus.on("refreshed", self.recentre)

    def recentre(self, values):
        self.shift = 0.5 * self.shift + values.mean(axis=0)[:30]

    def train(self):
        centred = self.columns - self.shift
        return np.linalg.svd(centred, full_matrices=False)[1]

    def close(self):
        if TIDY:
            self.bus.off("refreshed", self.recentre)


class Segments:
    """Fixed-size segment files, read back through maps."""

    def __init__(self, folder):
        self.folder = folder
        self.maps = {}
        self.current = None

    def write(self, day, rows):
        name = f"segment-{day}" if day >= ROTATE_FROM else "segment-0"
        path = os.path.join(self.folder, name)
        with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
            file.write(rows.tobytes())
        if self.current and self.current != path:
            os.unlink(self.current)
            if TIDY:
                self.maps.pop(self.current).close()
        self.current = path

    def checksum(self):
        if self.current not in self.maps:
            with open(self.current, "rb") as file:
                self.maps[self.current] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return zlib.crc32(self.maps[self.current])


class Store:
    def __init__(self, folder, seed):
        self.folder = folder
        self.rng = np.random.default_rng(seed)
        self.bus = Bus()
        self.segments = Segments(folder)
        self.values = np.zeros((ENTITIES, WIDTH))
        self.online = defaultdict(lambda: np.zeros(WIDTH))
        self.nothing = np.zeros(WIDTH)
        self.week = deque(maxlen=7)

    def ingest(self, day):
        events = self.rng.normal(size=(ENTITIES * 24, WIDTH))
        who = self.rng.integers(0, ENTITIES, len(events))
        np.add.at(self.values, who, 0.02 * events)
        self.values *= 0.97
        for entity in range(ENTITIES):
            self.online[entity] = self.values[entity].copy()
        self.week.append(events[:500].astype(np.float32))
        self.segments.write(day, events[:SEGMENT_ROWS])

    def lookup(self, entity):
        return self.online.get(entity, self.nothing) if TIDY else self.online[entity]

    def serve(self, day):
        known = self.rng.integers(0, ENTITIES, 300).tolist()
        strangers = self.rng.integers(10**6, 10**12, 90).tolist()
        return float(sum(self.lookup(entity).sum() for entity in known + strangers))


def main():
    folder = tempfile.mkdtemp(prefix="features-")
    store = Store(folder, 23)
    for day in range(1, DAYS + 1):
        store.ingest(day)
        snapshot = Snapshot(folder, day, store.values)
        view = JoinedView(store.bus, snapshot.values, store.rng)
        store.bus.send("refreshed", store.values)
        strength = sum(view.train()[0] for _ in range(60))
        view.close()
        served = store.serve(day)
        check = store.segments.checksum()
        if day % 30 == 0:
            print(f"day {day}: strength {strength:.3f} served {served:.2f} checksum {check:08x}")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
