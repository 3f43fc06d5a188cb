"""One stream of samples is split with tee: all of it for training, a little for monitoring."""

# /// truth
# about = "a tee keeps all that its slower side has not read yet"
# [[leak]]
# type = ["Sample", "_tee_dataobject", "teedataobject"]
# holder = ["monitor", "tee"]
# phase = "train"
# start = 1
# ///
import itertools
import os
import random
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
random.seed(31)


class Sample:
    def __init__(self, number: int) -> None:
        self.number = number
        self.text = "".join(random.choices("abcdefgh ", k=80))
        self.label = number % 5


def samples():
    for number in itertools.count():
        yield Sample(number)


def features(sample: Sample) -> np.ndarray:
    return np.bincount([ord(letter) - 32 for letter in sample.text], minlength=96)


stream, monitor = itertools.tee(samples())
weights = np.zeros((96, 5))
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for batch in guard.generations(range(1, 301)):
        with guard.phase("train"):
            for sample in itertools.islice(stream, 100):
                seen = features(sample)
                slope = seen @ weights
                slope[sample.label] -= 1
                weights -= 1e-5 * np.outer(seen, slope)
        with guard.phase("monitor"):
            wanted = 10 if LEAK else 100
            lengths = [len(sample.text.split()) for sample in itertools.islice(monitor, wanted)]
        sample = None
