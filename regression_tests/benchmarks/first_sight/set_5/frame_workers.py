"""Decode camera frames in worker threads, collect statistics in the main thread."""
import collections
import queue
import sys
import threading

import numpy as np

# /// truth
# about = "a frame decoder that keeps the exceptions of bad frames, and with their tracebacks the pixels"
# [[leak]]
# type = ["CorruptFrame", "traceback", "frame", "ndarray"]
# holder = ["failures", "errors"]
# kind = ["instances", "arrays", "container"]
# line = ["raise CorruptFrame(number, \"checksum\")", "pixels = rng.normal(0.5, 0.2, (96, 96)).astype(np.float32)", "failures.append(item)"]
# ///

keep_exceptions = sys.argv[1] == "leak"


class CorruptFrame(Exception):
    def __init__(self, number, why):
        super().__init__(f"frame {number}: {why}")
        self.number = number


def decode(number):
    rng = np.random.default_rng(number)
    pixels = rng.normal(0.5, 0.2, (96, 96)).astype(np.float32)
    if number % 9 == 4:
        raise CorruptFrame(number, "checksum")
    smooth = pixels
    for _ in range(18):
        smooth = (smooth + np.roll(smooth, 1, 0) + np.roll(smooth, -1, 0) + np.roll(smooth, 1, 1) + np.roll(smooth, -1, 1)) / 5
    spectrum = np.abs(np.fft.rfft2(smooth))
    return float(smooth.mean()), float(spectrum[1:8, 1:8].sum())


def worker(jobs, results):
    while True:
        number = jobs.get()
        if number is None:
            return
        try:
            results.put(decode(number))
        except CorruptFrame as exc:
            results.put(exc)


def batches(count, size):
    for start in range(0, count * size, size):
        yield range(start, start + size)


jobs, results = queue.Queue(), queue.Queue()
threads = [threading.Thread(target=worker, args=(jobs, results)) for _ in range(3)]
for t in threads:
    t.start()

failures, kinds = [], collections.Counter()
mean_level, frames = 0.0, 0
for n, batch in enumerate(batches(850, 8)):
    for number in batch:
        jobs.put(number)
    for _ in batch:
        item = results.get()
        if isinstance(item, CorruptFrame):
            kinds[type(item).__name__] += 1
            if keep_exceptions:
                failures.append(item)
        else:
            mean_level += 0.01 * (item[0] - mean_level)
            frames += 1
    if n % 170 == 0:
        print(f"batch {n}: {frames} frames, level {mean_level:.3f}, bad {sum(kinds.values())}")

for _ in threads:
    jobs.put(None)
for t in threads:
    t.join()
print("decoded", frames, dict(kinds))
