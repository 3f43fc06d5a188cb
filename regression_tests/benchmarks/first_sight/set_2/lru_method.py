"""Cross-validation of a detector on machine vibrations. The spectrum of a window is asked for by several
features, so the method has a cache."""

# /// truth
# about = "functools.lru_cache on a method keeps every extractor and its signal"
# [[leak]]
# type = ["SignalFeatures", "ndarray"]
# holder = "spectrum"
# phase = ["extract", "record"]
# start = 1
# within = 3
# kind = ["instances", "arrays", "container"]
# ///
import functools
import os
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(21)
WINDOW = 512


class SignalFeatures:
    def __init__(self, signal):
        self.signal = signal
        self.spectra = {}

    def compute(self, index):
        piece = self.signal[index * WINDOW : (index + 1) * WINDOW] * np.hanning(WINDOW)
        return np.abs(np.fft.rfft(piece))

    if LEAK:

        @functools.lru_cache(maxsize=None)
        def spectrum(self, index):
            return self.compute(index)

    else:

        def spectrum(self, index):
            if index not in self.spectra:
                self.spectra[index] = self.compute(index)
            return self.spectra[index]

    def centroid(self, index):
        spectrum = self.spectrum(index)
        return float((spectrum * np.arange(len(spectrum))).sum() / spectrum.sum())

    def energy(self, index, low, high):
        return float((self.spectrum(index)[low:high] ** 2).sum())

    def flatness(self, index):
        spectrum = self.spectrum(index) + 1e-9
        return float(np.exp(np.log(spectrum).mean()) / spectrum.mean())


def record(machine):
    time = np.arange(WINDOW * 40) / 8000
    return np.sin(2 * np.pi * (50 + machine % 7) * time) + rng.normal(0, 0.5, time.size)


def main():
    coefficients = np.zeros(4)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for machine in guard.generations(range(1, 161)):
            with guard.phase("record"):
                signal = record(machine)
            with guard.phase("extract"):
                features = SignalFeatures(signal)
                rows = []
                for index in range(40):
                    row = [features.centroid(index), features.flatness(index)]
                    row += [features.energy(index, 0, 20), features.energy(index, 20, 120)]
                    rows.append(row)
            with guard.phase("fit"):
                table = np.array(rows)
                table = (table - table.mean(0)) / (table.std(0) + 1e-9)
                target = np.full(40, machine % 7 / 7.0)
                for _ in range(700):
                    coefficients -= 0.01 * table.T @ (table @ coefficients - target) / 40
    print(coefficients.round(4))


main()
