"""A figure an epoch, saved and never closed."""
import io
import sys
import warnings
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from leakguard import LeakGuard, phase

CLEAN = "clean" in sys.argv
warnings.filterwarnings("ignore", message="More than 20 figures")


@phase("plot")
def plot_confusion(matrix):
    fig, axis = plt.subplots(figsize=(4, 4))
    axis.imshow(matrix)
    fig.savefig(io.BytesIO(), format="png")
    if CLEAN:
        plt.close(fig)


@phase("evaluate")
def evaluate():
    return np.random.rand(40, 40)


guard = LeakGuard(out=f"epoch_figures{'_clean' if CLEAN else ''}.jsonl", watch=[plt.Figure])
with guard:
    for epoch in guard.generations(range(8)):
        plot_confusion(evaluate())
