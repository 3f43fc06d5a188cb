"""Trains on features that a preprocessing step writes to shards, read through mmap."""
# /// truth
# about = "the maps of old shards are kept by (epoch, shard) and never closed"
# [[leak]]
# type = "mmap"
# holder = "views"
# phase = "map_shard"
# start = 1
# within = 1
# kind = ["instances", "files"]
# ///
import mmap
import os
import sys
import tempfile

import numpy as np

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
GENERATIONS = 150
ROWS, COLUMNS = 4000, 64


class ShardReader:
    def __init__(self):
        self.views = {}

    def open(self, epoch, path):
        if not LEAK:
            for old in self.views.values():
                old.close()
            self.views.clear()
        with open(path, "rb") as file:
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.views[epoch, os.path.basename(path)] = view
        return view


class Model:
    def __init__(self):
        self.weights = np.zeros(COLUMNS)

    @phase("fit")
    def fit(self, view):
        shard = np.array(np.frombuffer(view, np.float32).reshape(ROWS, COLUMNS))
        x, y = shard, shard[:, 0] * 2 - shard[:, 1]
        for _ in range(40):
            self.weights -= 0.05 * (x.T @ (x @ self.weights - y)) / ROWS


rng = np.random.default_rng(31)


@phase("preprocess")
def preprocess(folder):
    path = os.path.join(folder, "features.bin")
    raw = rng.normal(size=(ROWS, COLUMNS))
    features = np.tanh(np.sort(raw, axis=0))[rng.permutation(ROWS)].astype(np.float32)
    if os.path.exists(path):
        os.unlink(path)
    features.tofile(path)
    return path


reader, model = ShardReader(), Model()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with tempfile.TemporaryDirectory() as folder, guard:
    for epoch in guard.generations(range(1, GENERATIONS + 1)):
        path = preprocess(folder)
        with guard.phase("map_shard"):
            view = reader.open(epoch, path)
        model.fit(view)
