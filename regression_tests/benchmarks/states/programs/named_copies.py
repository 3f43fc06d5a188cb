"""The same data under several names, each with a copy of its own, and in the settings of a run."""

import numpy

prices = numpy.arange(2_500_000, dtype=float)
backup = prices.copy()
before_training = prices.copy()
settings = {"learning_rate": 0.1, "prices": numpy.array(prices)}
