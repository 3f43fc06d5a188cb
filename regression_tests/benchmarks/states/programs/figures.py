"""Figures that were drawn and never closed."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

for number in range(4):
    figure, axes = plt.subplots()
    axes.imshow(np.full((1_000, 2_500), float(number)))
del figure, axes
