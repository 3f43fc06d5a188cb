"""A swarm optimiser that plots its own progress: when the history of a measure has 6,000 points, every second one
of the older half goes."""

# /// truth
# about = "histories of eight measures, whose older half is thinned out whenever they reach 6,000 points"
# ///
import math
import os
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(64)
MEASURES = ["best", "mean", "worst", "spread", "speed", "radius", "inertia", "evaluations"]
DIMENSIONS, PARTICLES = 12, 40


class History:
    def __init__(self, limit=6000):
        self.limit, self.seen = limit, 0
        self.points = []

    def add(self, value):
        self.seen += 1
        self.points.append((self.seen, value))
        if len(self.points) >= self.limit:
            half = self.limit // 2
            self.points[:half] = self.points[:half:2]


class Swarm:
    def __init__(self):
        self.place = rng.uniform(-5, 5, (PARTICLES, DIMENSIONS))
        self.speed = rng.normal(0, 0.1, (PARTICLES, DIMENSIONS))
        self.own, self.own_value = self.place.copy(), self.value()

    def value(self):
        return (self.place**2 - 10 * np.cos(2 * math.pi * self.place) + 10).sum(1)

    def move(self, inertia):
        leader = self.own[self.own_value.argmin()]
        pull = rng.random((2, PARTICLES, 1))
        self.speed = inertia * self.speed + pull[0] * (self.own - self.place) + pull[1] * (leader - self.place)
        self.place = self.place + self.speed
        value = self.value()
        better = value < self.own_value
        self.own[better], self.own_value[better] = self.place[better], value[better]
        return value


def main():
    swarm = Swarm()
    histories = {name: History() for name in MEASURES}
    evaluations = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for block in guard.generations(range(1, 901)):
            for _ in range(50):
                inertia = 0.5 + 0.2 * math.cos(evaluations / 9e4)
                with guard.phase("move"):
                    value = swarm.move(inertia)
                    evaluations += len(value)
                with guard.phase("note"):
                    numbers = [value.min(), value.mean(), value.max(), value.std(), np.abs(swarm.speed).mean(),
                               np.linalg.norm(swarm.place, axis=1).mean(), inertia, evaluations]  # fmt: skip
                    for name, number in zip(MEASURES, numbers):
                        histories[name].add(float(number))
    print("best", round(float(swarm.own_value.min()), 3), {name: len(item.points) for name, item in histories.items()})


main()
