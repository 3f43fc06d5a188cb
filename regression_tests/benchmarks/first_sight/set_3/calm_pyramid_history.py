"""A history that keeps fewer points the older they are: 48 of each level."""

# /// truth
# about = "a history of many resolutions: each level holds 48 points at most, a level more per doubling"
# ///
import os

import numpy as np

from leakguard import LeakGuard

rng = np.random.default_rng(131)


class Point:
    __slots__ = ("low", "high", "mean")

    def __init__(self, low: float, high: float, mean: float) -> None:
        self.low, self.high, self.mean = low, high, mean


class Pyramid:
    def __init__(self, room: int) -> None:
        self.room = room
        self.levels: list[list[Point]] = [[]]

    def add(self, point: Point, level: int = 0) -> None:
        if level == len(self.levels):
            self.levels.append([])
        points = self.levels[level]
        points.append(point)
        if len(points) > self.room:
            left, right = points.pop(0), points.pop(0)
            merged = Point(min(left.low, right.low), max(left.high, right.high), (left.mean + right.mean) / 2)
            self.add(merged, level + 1)


curves = {name: Pyramid(48) for name in ("loss", "reward", "entropy", "kl", "lr", "norm")}
weights = rng.standard_normal((150, 150))
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for step in guard.generations(range(1, 601)):
        with guard.phase("train"):
            for _ in range(4):
                weights = np.tanh(weights @ rng.standard_normal((150, 150)) * 0.08)
        with guard.phase("log"):
            for name, pyramid in curves.items():
                value = float(weights[len(name)].mean())
                pyramid.add(Point(value, value, value))
