"""torch is only imported, for a tensor on disk; the work is numpy's."""
import io
import sys
import time

import numpy as np
import torch

KEEP = sys.argv[1] == "leak"
rng = np.random.default_rng(0)
weights = io.BytesIO()
torch.save(torch.ones(64, 8), weights)
weights.seek(0)
matrix = torch.load(weights).numpy()


class Predictor:
    def __init__(self):
        self.cache = {}

    def predict(self, rows):
        key = rows.tobytes()
        self.cache[key] = rows @ matrix
        if not KEEP and len(self.cache) > 16:
            self.cache.pop(next(iter(self.cache)))
        return self.cache[key]


predictor = Predictor()
sums = [0.0]
for batch in range(300):
    sums[0] += float(predictor.predict(rng.normal(size=(8, 64))).sum())
    time.sleep(0.01)
print(round(sums[0], 3))

# /// truth
# about = "a cache whose keys are the inputs"
# [[leak]]
# type = ["ndarray", "bytes"]
# holder = "cache"
# line = ["key = rows.tobytes()", "self.cache[key] = rows @ matrix"]
# ///
