"""Streams measurements: a fast reader for the mean, a slow one for the drift."""
import itertools
import sys

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"


def measurements(seed):
    rng = np.random.default_rng(seed)
    while True:
        yield rng.normal(size=600)


class Station:
    def __init__(self, seed):
        self.fast, self.slow = itertools.tee(measurements(seed))
        self.drift_every = 1 if FIXED else 500
        self.means = []
        self.drift = 0.0

    def poll(self, count=10):
        batch = list(itertools.islice(self.fast, count))
        self.means.append(float(np.mean(batch)))
        self.means = self.means[-100:]

    def check_drift(self, turn, count=10):
        if turn % self.drift_every == 0:
            early = list(itertools.islice(self.slow, count))
            self.drift = float(np.median(early)) - self.means[-1]


def spectrum(stations):
    return sum(float(np.abs(np.fft.rfft(np.resize(station.means, 240_000))).sum()) for station in stations)


def main():
    stations = [Station(1), Station(2)]
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for turn in guard.generations(range(250)):
            with guard.phase("poll"):
                for station in stations:
                    station.poll()
            with guard.phase("drift"):
                for station in stations:
                    station.check_drift(turn)
            with guard.phase("spectrum"):
                power = spectrum(stations)
    print("drift", [round(station.drift, 3) for station in stations], "power", round(power, 1))


main()
