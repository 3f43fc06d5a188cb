"""A failed call at a prompt: its frame still holds the array that it worked on."""

import numpy


def normalise(rows):
    """Fail after a large array was made."""
    scaled = numpy.ones(rows)
    raise ValueError(f"{scaled.size} rows have no scale")


# %% fails
normalise(5_000_000)
