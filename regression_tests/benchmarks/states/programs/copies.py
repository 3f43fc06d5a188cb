"""Ten equal copies of one array, made where a reference would do."""

import numpy

prices = numpy.arange(1_250_000, dtype=float)
per_worker = [prices.copy() for _ in range(9)]
