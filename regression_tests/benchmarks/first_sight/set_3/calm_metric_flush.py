"""Metric points gather for 40 rounds and are then written to a file."""

# /// truth
# about = "objects that gather for 40 rounds and are written and dropped then"
# ///
import json
import os
import random
import tempfile

import numpy as np

from leakguard import LeakGuard

random.seed(91)
rng = np.random.default_rng(91)


class Point:
    def __init__(self, name, step, value):
        self.name, self.step, self.value = name, step, value
        self.labels = {"rank": step % 4, "stage": "fit"}


class Sink:
    def __init__(self, path, every):
        self.path, self.every = path, every
        self.points = []
        self.last = 0

    def log(self, name, step, value):
        self.points.append(Point(name, step, value))

    def maybe_flush(self, step):
        if step - self.last < self.every:
            return
        with open(self.path, "w") as file:
            for point in self.points:
                file.write(json.dumps(vars(point)) + "\n")
        self.points, self.last = [], step


guard = LeakGuard(out=os.environ["RUN_FILE"])
weights = rng.standard_normal((200, 200))
with tempfile.TemporaryDirectory() as folder, guard:
    sink = Sink(os.path.join(folder, "metrics.jsonl"), every=40)
    for step in guard.generations(range(1, 271)):
        with guard.phase("train"):
            for _ in range(8):
                weights = np.tanh(weights @ rng.standard_normal((200, 200)) * 0.05)
        with guard.phase("log"):
            for layer in range(40):
                sink.log(f"layer{layer}/norm", step, float(weights[layer].sum()))
            sink.maybe_flush(step)
