"""A notebook after a morning of work: a result, a failed cell and open figures, all at once."""

# notebook
import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

data = np.arange(2_000_000, dtype=float)
# %%
np.ones((1_000, 3_000)) * 2
# %%
for number in range(2):
    plt.subplots()[1].imshow(np.full((1_000, 2_500), float(number)))


# %%
def normalise(rows):
    """Fail after a large array was made."""
    scaled = np.ones(rows)
    raise ValueError(f"{scaled.size} rows have no scale")


# %% fails
normalise(4_000_000)
# %%
total = data.sum()
