"""A failed cell of a notebook: the last exception, and IPython's own reference to its traceback."""

# notebook
import numpy


def normalise(rows):
    """Fail after a large array was made."""
    scaled = numpy.ones(rows)
    raise ValueError(f"{scaled.size} rows have no scale")


# %% fails
normalise(5_000_000)
# %%
rows = 5_000_000
