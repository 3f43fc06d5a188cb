"""Ten numbers of a large array, and nothing else of it."""

import numpy


def load():
    """Return a large array."""
    return numpy.ones(10_000_000)


head = load()[:10]
