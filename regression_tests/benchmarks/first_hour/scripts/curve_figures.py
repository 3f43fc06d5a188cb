"""Learning-curve figures, one a epoch, saved as png. Run untouched."""
import io
import sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import warnings

warnings.filterwarnings("ignore")
CLEAN = "clean" in sys.argv


def draw(curve, epoch):
    fig, ax = plt.subplots(figsize=(4, 3))
    ax.plot(curve)
    ax.set_title(f"epoch {epoch}")
    out = io.BytesIO()
    fig.savefig(out, format="png")
    if CLEAN:
        plt.close(fig)
    return len(out.getvalue())


def train_epoch(w, x):
    for _ in range(50):
        w = w - 0.01 * x.T @ (x @ w) / len(x)
    return w


rng = np.random.default_rng(0)
x, w = rng.normal(size=(500, 50)), rng.normal(size=50)
curve = []
for epoch in range(30):
    w = train_epoch(w, x)
    curve.append(float((x @ w).var()))
    draw(curve, epoch)
print(curve[-1])
