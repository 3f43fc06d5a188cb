"""Steps a small tissue model and renders one frame of it per generation."""

# /// truth
# about = """a plot tab that builds a new colour bar on the same axes for each frame, so that each
# one is chained to the one before, as in PhysiCell-Tools/PhysiCell-Studio pull request 366"""
# [[leak]]
# type = [
#   "Colorbar", "_ColorbarAxesLocator", "_ColorbarSpine", "PathCollection", "QuadMesh",
#   "LineCollection", "ListedColormap", "Normalize", "Colorizer", "CallbackRegistry",
#   "_UnhashDict", "WeakMethod", "partial", "count", "Path", "MaskedArray", "ndarray",
#   "Affine2D", "Bbox", "TransformedBbox", "BboxTransformTo", "CompositeGenericTransform",
#   "IdentityTransform", "ScalarFormatter", "AutoLocator", "NullLocator", "dict", "list", "set",
#   "tuple", "function", "method", "cell"]
# holder = ["color_axes", "cax", "_axes_locator", "_orig_locator", "_children", "cbar", "figure",
#   "callbacks", "colorbar", "_colorbar"]
# phase = "render"
# start = 2
# ///
import os
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib.figure import Figure

from leakguard import LeakGuard

REUSE_BAR = sys.argv[1] == "clean"
GENERATIONS = 80
CELLS = 100


class Tissue:
    """Cells that drift, push each other apart and consume oxygen."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.position = rng.uniform(-1.0, 1.0, (CELLS, 2))
        self.oxygen = np.ones(CELLS)

    def step(self) -> None:
        gap = self.position[:, None, :] - self.position[None, :, :]
        distance = np.linalg.norm(gap, axis=-1) + 1e-6
        push = np.where(distance < 0.1, 0.1 - distance, 0.0) / distance
        self.position += 0.2 * (gap * push[:, :, None]).sum(axis=1)
        self.position += self.rng.normal(0.0, 0.01, self.position.shape)
        crowd = (distance < 0.15).sum(axis=1)
        self.oxygen = 0.9 * self.oxygen + 0.1 * np.exp(-0.2 * crowd)


class PlotTab:
    """The axes of a viewer: cells on the left, their scale on the right."""

    def __init__(self) -> None:
        self.figure = Figure(figsize=(2, 1.5), dpi=40)
        self.cell_axes = self.figure.add_axes((0.1, 0.1, 0.7, 0.8))
        self.color_axes = self.figure.add_axes((0.85, 0.1, 0.04, 0.8))
        self.colorbar = None

    def show(self, tissue: Tissue) -> None:
        self.cell_axes.clear()
        cells = self.cell_axes.scatter(*tissue.position.T, c=tissue.oxygen, s=4, cmap="viridis")
        if self.colorbar is None or not REUSE_BAR:
            self.colorbar = self.figure.colorbar(cells, cax=self.color_axes)
        else:
            self.colorbar.update_normal(cells)
        self.figure.canvas.draw()


def main() -> None:
    tissue = Tissue(np.random.default_rng(366))
    tab = PlotTab()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("simulate"):
                tissue.step()
            with guard.phase("render"):
                tab.show(tissue)


if __name__ == "__main__":
    main()
