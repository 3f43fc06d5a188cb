"""A thumbnail service with an LRU cache; rare pictures keep coming long after the start."""
# /// truth
# about = "an LRU cache of bounded size that takes half of the run to fill, as most requests are hits"
# ///
import os
import sys
from collections import OrderedDict

import numpy as np

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 160


class Thumbnail:
    __slots__ = ("name", "pixels")

    def __init__(self, name, pixels):
        self.name = name
        self.pixels = pixels


class Cache:
    def __init__(self, size):
        self.size = size
        self.entries = OrderedDict()

    def get(self, name, make):
        try:
            self.entries.move_to_end(name)
        except KeyError:
            self.entries[name] = make(name)
            if len(self.entries) > self.size:
                self.entries.popitem(last=False)
        return self.entries[name]


def make(name):
    rng = np.random.default_rng(name)
    picture = rng.random((512, 512))
    spectrum = np.fft.rfft2(picture)
    return Thumbnail(name, np.abs(spectrum[:64, :64]).astype(np.float32))


rng = np.random.default_rng(50)
cache = Cache(600)
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for minute in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("requests"):
            names = np.minimum(rng.zipf(1.25, 40), 200_000)
        with guard.phase("serve"):
            brightness = [float(cache.get(int(name), make).pixels.mean()) for name in names]
