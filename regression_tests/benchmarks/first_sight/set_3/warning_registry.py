"""An evaluation loop that warns about odd samples, each time with a sample's own words."""

# /// truth
# about = "warnings whose text differs each time: the module's registry remembers every one of them"
# [[leak]]
# type = ["tuple", "str"]
# kind = ["container"]
# holder = "__warningregistry__"
# phase = "validate"
# start = 1
# ///
import os
import sys
import warnings

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
warnings.simplefilter("default")
warnings.showwarning = lambda *words, **more: None  # a job's log should stay short
rng = np.random.default_rng(7)


def check(sample: int, value: float) -> float:
    if value > 1.5:
        if LEAK:
            warnings.warn(f"sample {sample}: value {value:.6f} beyond 1.5", RuntimeWarning)
        else:
            warnings.warn("a value beyond 1.5", RuntimeWarning)
        return 1.5
    return value


def validate(epoch: int, weights: np.ndarray) -> float:
    values = np.abs(rng.standard_normal(60))
    total = 0.0
    for index, value in enumerate(values):
        total += check(epoch * 60 + index, float(value))
    return total


def train(weights: np.ndarray) -> np.ndarray:
    for _ in range(6):
        data = rng.standard_normal((160, 160))
        weights = weights - 1e-4 * (data.T @ (data @ weights))
    return weights


guard = LeakGuard(out=os.environ["RUN_FILE"])
weights = rng.standard_normal((160, 160))
with guard:
    for epoch in guard.generations(range(1, 301)):
        with guard.phase("train"):
            weights = train(weights)
        with guard.phase("validate"):
            validate(epoch, weights)
