"""An error that was kept for later, with the frames of its traceback."""

import numpy


def fit(rows):
    """Fail after a large array was made."""
    matrix = numpy.ones((rows, 1_000))
    raise ValueError(f"{matrix.shape} is singular")


try:
    fit(5_000)
except ValueError as error:
    saved = error
