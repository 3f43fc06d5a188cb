"""Shards of sensor data are decoded and averaged. A shard that is corrupt is noted and left out; what was
noted is printed at the end of each round."""

# /// truth
# about = "exceptions kept with their tracebacks, hence the frames and the arrays in them; each sixth round"
# [[leak]]
# type = ["CorruptShard", "ndarray", "traceback", "frame"]
# holder = "failures"
# phase = ["decode", "load"]
# start = 6
# within = 6
# kind = ["instances", "arrays", "container"]
# ///
import os
import sys
import zlib

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(17)
ROWS, CHANNELS = 6000, 12
PACKED = [zlib.compress(rng.integers(0, 40, (ROWS, CHANNELS)).astype(np.int16).tobytes(), 1) for _ in range(6)]


class CorruptShard(Exception):
    pass


class Loader:
    def __init__(self):
        self.failures = []
        self.reported = 0

    def decode(self, packed, calibration, broken):
        raw = np.frombuffer(zlib.decompress(packed), np.int16).reshape(ROWS, CHANNELS)
        values = raw * calibration
        if broken:
            values[17, 3] = np.nan
        self.check(values)
        return values.mean(0), values.std(0)

    def check(self, values):
        if np.isnan(values).any():
            row, channel = np.argwhere(np.isnan(values))[0]
            raise CorruptShard(f"not a number in row {row}, channel {channel}")

    def load(self, guard, round_):
        summaries = []
        calibration = np.linspace(0.9, 1.1, CHANNELS)
        for number, packed in enumerate(PACKED):
            with guard.phase("decode"):
                try:
                    summaries.append(self.decode(packed, calibration, round_ % 6 == 0 and number == 2))
                except CorruptShard as error:
                    self.failures.append(error)
        return summaries

    def report(self):
        for error in self.failures[self.reported :]:
            if self.reported % 20 == 0:
                print("left out a shard:", error)
            self.reported += 1
        if not LEAK:
            self.failures.clear()
            self.reported = 0


def main():
    loader = Loader()
    state = np.zeros(CHANNELS)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for round_ in guard.generations(range(1, 301)):
            with guard.phase("load"):
                summaries = loader.load(guard, round_)
            with guard.phase("update"):
                for mean, deviation in summaries:
                    state += 0.05 * (mean / deviation - state)
            with guard.phase("report"):
                loader.report()
    print(state.round(2))


main()
