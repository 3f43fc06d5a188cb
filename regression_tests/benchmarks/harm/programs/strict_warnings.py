"""Warnings: where the program makes them errors, none of ours may come up, nor filters change."""

import time
import warnings

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["numpy"]
warnings.simplefilter("error")

import numpy as np


class Deprecated:
    @property
    def size(self):
        raise DeprecationWarning("size is going")

    def __array__(self, *_, **__):
        raise DeprecationWarning("no array")


filters = list(warnings.filters)
shown = warnings.showwarning
kept = []
with watched() as guard:
    for number in guard.generations(range(12)):
        kept.extend(Deprecated() for _ in range(500))
        kept.append(np.ma.masked_array(np.arange(1000), np.arange(1000) % 2))
        time.sleep(0.05)
        event(number, warnings.filters == filters, warnings.showwarning is shown)
