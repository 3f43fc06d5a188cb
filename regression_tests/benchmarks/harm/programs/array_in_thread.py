"""References: what only its thread refers to must be as free to be resized as it thinks.

NumPy refuses to resize an array that somebody else refers to, and a ``bytearray`` one of whose
buffers is exported.
"""

import sys
import threading
import time

import numpy as np

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["numpy"]


class Sample:
    pass


def resized(over, refused):
    while not over.is_set():
        array, data, alone = np.zeros(100), bytearray(100), [1, 2, 3]
        time.sleep(0.0003)
        try:
            array.resize(200)
            data.extend(b"x" * 100)
        except (ValueError, BufferError) as error:
            refused.append(type(error).__name__)
        if sys.getrefcount(alone) != 2:
            refused.append("getrefcount")


over, refused = threading.Event(), []
thread = threading.Thread(target=resized, args=(over, refused))
thread.start()
ballast = [[number] for number in range(200_000)] + [np.zeros(2) for _ in range(20_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
print("refused:", sorted(set(refused)))
