"""Materialise hourly feature views of an event stream, compact them into segments, score them."""
import functools
import mmap
import sys
from collections import OrderedDict, deque

import numpy as np
from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
HOURS = 54
ENTITIES = 9000
FEATURES = 12
FIRST_COMPACTION = 15


class EventSource:
    """A synthetic click stream: ids, values and delays of one hour."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def hour(self):
        n = 120_000
        ids = self.rng.integers(0, ENTITIES, n)
        values = self.rng.gamma(2.0, 1.5, n)
        return ids, values


class FeatureView:
    """The features of all entities in one hour; replaced by a new view every hour."""

    def __init__(self, hour, table):
        self.hour = hour
        self.table = table
        self._profiles = {}

    def _profile(self, column):
        values = self.table[:, column]
        return tuple(float(q) for q in np.quantile(values, (0.05, 0.5, 0.95)))

    if FIXED:
        def profile(self, column):
            if column not in self._profiles:
                self._profiles[column] = self._profile(column)
            return self._profiles[column]
    else:
        profile = functools.lru_cache(maxsize=None)(_profile)


class SegmentCatalog:
    """Zero-copy segments for the readers; a version is pinned while it is read."""

    def __init__(self):
        self.current = {}
        self.pinned = OrderedDict()

    def publish(self, partition, version, rows):
        segment = mmap.mmap(-1, rows.nbytes)
        segment.write(rows.tobytes())
        old = self.current.get(partition)
        self.current[partition] = version
        self.pinned[partition, version] = segment
        if FIXED and old is not None:
            self.pinned.pop((partition, old)).close()

    def read(self, partition):
        segment = self.pinned[partition, self.current[partition]]
        segment.seek(0)
        return np.frombuffer(segment.read(), dtype=np.float32)


class Store:
    def __init__(self):
        self.view = None
        self.history = deque(maxlen=6)          # sliding window of hourly sums
        self.embeddings = {}                    # converges: one entry for each bucket
        self.catalog = SegmentCatalog()

    def materialise(self, hour, ids, values):
        table = np.empty((ENTITIES, FEATURES), dtype=np.float32)
        counts = np.bincount(ids, minlength=ENTITIES)
        sums = np.bincount(ids, weights=values, minlength=ENTITIES)
        self.history.append(sums)
        for column in range(FEATURES):
            window = list(self.history)[-1 - column % 6:]
            table[:, column] = np.sum(window, axis=0) / (counts + 1 + column)
        self.view = FeatureView(hour, table)

    def score(self):
        total = 0.0
        for column in range(FEATURES):
            low, mid, high = self.view.profile(column)
            total += (high - low) / (mid + 1e-6)
        for bucket in np.unique(self.view.table[:, 0].astype(int) % 50):
            key = int(bucket)
            if key not in self.embeddings:
                self.embeddings[key] = np.full(400, key, dtype=np.float64)
            total += self.embeddings[key].mean()
        return total

    def compact(self, hour):
        order = np.argsort(self.view.table[:, 0], kind="stable")
        hot = self.view.table[order[-2500:]]
        self.catalog.publish("hot", hour, hot)
        return float(self.catalog.read("hot").sum())


def main():
    source, store = EventSource(7), Store()
    checksum = 0.0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for hour in guard.generations(range(1, HOURS + 1)):
            with guard.phase("ingest"):
                parts = [source.hour() for _ in range(8)]
                ids = np.concatenate([part[0] for part in parts])
                values = np.concatenate([part[1] for part in parts])
            with guard.phase("materialise"):
                store.materialise(hour, ids, values)
            with guard.phase("score"):
                checksum += store.score()
            if hour >= FIRST_COMPACTION:
                with guard.phase("compact"):
                    checksum += store.compact(hour)
    print(f"{checksum:.3f}")


main()
