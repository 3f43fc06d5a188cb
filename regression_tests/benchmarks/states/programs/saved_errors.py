"""The errors of several attempts, in a list of the module."""

import numpy

errors = []


def fit(rows):
    """Fail after a large array was made."""
    matrix = numpy.ones((rows, 1_000))
    raise ValueError(f"{matrix.shape} is singular")


for _ in range(6):
    try:
        fit(1_000)
    except ValueError as error:
        errors.append(error)
