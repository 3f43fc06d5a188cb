"""Merges camera frames of a simulated rig into an index of thumbnails."""
import sys
from collections import deque

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
rng = np.random.default_rng(19)


class Rig:
    def __init__(self, side=500):
        self.background = rng.random((side, side), dtype=np.float32)

    def capture(self, number):
        frame = np.roll(self.background, number, axis=1) + 0.1 * rng.random(self.background.shape, dtype=np.float32)
        return frame


class Index:
    def __init__(self):
        self.thumbnails = {}
        self.window = deque(maxlen=8)

    def add(self, number, frame):
        corner = frame[:24, :24]
        self.thumbnails[number] = corner.copy() if FIXED else corner
        self.window.append(frame)

    def merged(self):
        return np.median(np.stack(list(self.window)[-8:]), axis=0)


def main():
    rig, index = Rig(), Index()
    guard = LeakGuard(out=sys.argv[2])
    brightness = []
    with guard:
        for number in guard.generations(range(100)):
            with guard.phase("capture"):
                frame = rig.capture(number)
            with guard.phase("merge"):
                index.add(number, frame)
                brightness.append(float(index.merged().mean()))
    print("frames", len(index.thumbnails), "brightness", round(sum(brightness) / len(brightness), 4))


main()
