"""Exports of many kinds, each of which imports its library when it is first asked for."""

# /// truth
# about = "libraries are imported in rounds 30, 45, 60 ... when an export first needs them"
# ///
import importlib
import os
import random

import numpy as np

from leakguard import LeakGuard

random.seed(151)
rng = np.random.default_rng(151)
EXPORTS = ("xml.dom.minidom", "sqlite3", "decimal", "email.mime.multipart", "http.cookiejar", "unittest.mock",
           "matplotlib.figure", "multiprocessing.pool", "xmlrpc.client", "pydoc", "tarfile", "numpy.testing")


def export(number: int, values: np.ndarray) -> int:
    place = min((number - 15) // 15, len(EXPORTS))
    if place < 1:
        return 0
    module = importlib.import_module(EXPORTS[random.randrange(place)])
    return len(f"{module.__name__}: {values.mean():.4f}")


weights = rng.standard_normal((160, 160))
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for number in guard.generations(range(1, 261)):
        with guard.phase("train"):
            for _ in range(8):
                weights = np.tanh(weights @ rng.standard_normal((160, 160)) * 0.08)
        with guard.phase("export"):
            export(number, weights)
