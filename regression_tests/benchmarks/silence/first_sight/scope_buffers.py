"""Signal acquisition toy: C buffers filled by a 'driver', filtered with numpy, then released."""
import ctypes
import os
import sys
import weakref

import numpy as np

from leakguard import LeakGuard

MODE = sys.argv[1]
SWEEPS = 60
SAMPLES = 60_000


def release(counter, slot):
    counter[slot] -= 1


class Acquisition:
    """Owns a C buffer; the driver must be told when it is not used any more."""

    in_use = {0: 0, 1: 0}

    def __init__(self, slot):
        self.slot = slot
        self.buffer = (ctypes.c_float * SAMPLES)()
        Acquisition.in_use[slot] += 1
        if MODE == "leak":
            self._finalizer = weakref.finalize(self, self.close)
        else:
            self._finalizer = weakref.finalize(self, release, Acquisition.in_use, slot)

    def close(self):
        release(Acquisition.in_use, self.slot)

    def samples(self):
        return np.frombuffer(self.buffer, dtype=np.float32)


class Driver:
    def __init__(self):
        self.phase = 0.0
        self.rng = np.random.default_rng(4)

    def fill(self, acquisition):
        t = np.arange(SAMPLES, dtype=np.float32) / 5000 + self.phase
        self.phase += SAMPLES / 5000
        signal = np.sin(2 * np.pi * 3 * t) + 0.2 * self.rng.standard_normal(SAMPLES)
        acquisition.samples()[:] = signal


class Display:
    """Keeps the last few spectra for the waterfall."""

    def __init__(self, rows=24):
        self.rows = rows
        self.waterfall = []

    def draw(self, spectrum):
        self.waterfall.append(spectrum)
        if len(self.waterfall) > self.rows:
            self.waterfall.pop(0)

    def peak(self):
        return int(np.argmax(np.mean(self.waterfall, axis=0)))


def filtered(samples):
    kernel = np.hanning(65)
    smooth = np.convolve(samples, kernel / kernel.sum(), mode="same")
    return np.abs(np.fft.rfft(smooth[:4096]))[:400]


def main():
    driver, display = Driver(), Display()
    levels = []
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for sweep in guard.generations(range(SWEEPS)):
            with guard.phase("acquire"):
                acq = Acquisition(slot=sweep % 2)
                driver.fill(acq)
            with guard.phase("analyse"):
                for shift in range(22):
                    spectrum = filtered(np.roll(acq.samples(), shift * 200))
                display.draw(spectrum)
                levels.append(float(spectrum.max()))
            if sweep % 12 == 0:
                print(f"sweep {sweep}: level {levels[-1]:.1f} peak bin {display.peak()}")
    print(f"mean level {sum(levels) / len(levels):.2f}")


if __name__ == "__main__":
    main()
