"""Results of cells that were only looked at: ``Out``, ``_`` and ``_5`` keep them."""

# notebook
import numpy

# %%
numpy.ones((1_000, 2_500))
# %%
numpy.ones((2_000, 2_500)) + 1
# %%
[f"{number:0200}" for number in range(20_000)]
