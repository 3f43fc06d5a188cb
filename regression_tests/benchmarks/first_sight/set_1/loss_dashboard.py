"""Logistic regression with a dashboard picture every fourth epoch."""
# /// truth
# about = "pyplot keeps the figure of every dashboard because nobody closes it"
# [[leak]]
# type = "Figure"
# holder = "figs"
# phase = "plot"
# start = 4
# within = 4
# kind = "instances"
# ///
import io
import os
import sys
from collections import deque

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 100
plt.rcParams["figure.max_open_warning"] = 0

rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 40))
y = (x @ rng.normal(size=40) + rng.normal(size=4000) > 0).astype(float)
weights = np.zeros(40)
losses = deque(maxlen=50)


def dashboard():
    figure, (left, right) = plt.subplots(1, 2, figsize=(5, 2.5), dpi=60)
    left.plot(list(losses))
    left.set_title("loss")
    right.hist(weights, bins=20)
    right.set_title("weights")
    picture = io.BytesIO()
    figure.savefig(picture)
    if not LEAK:
        plt.close(figure)
    return len(picture.getvalue())


losses.append(0.7)
plt.close(plt.figure())
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("train"):
            for _ in range(120):
                chance = 1 / (1 + np.exp(-(x @ weights)))
                weights -= 0.1 * (x.T @ (chance - y)) / len(y)
            losses.append(float(-np.mean(y * np.log(chance + 1e-9) + (1 - y) * np.log(1 - chance + 1e-9))))
        if epoch % 4 == 0:
            with guard.phase("plot"):
                dashboard()
