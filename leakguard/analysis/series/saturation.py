"""The saturating curve a(1-exp(-t/tau)): does a series approach a plateau, and which one?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Saturation:
    """A fitted curve ``base + amplitude * (1 - exp(-t / tau))`` with ``t`` in rounds.

    Attributes:
        error: root mean square of what the curve leaves over.
    """

    base: float
    amplitude: float
    tau: float
    error: float

    @property
    def plateau(self) -> float:
        """The value that the curve approaches."""
        return self.base + self.amplitude

    def reaches(self, tolerance: float) -> int | None:
        """Return the first round within ``tolerance`` of the plateau, None for a falling curve."""
        if self.amplitude <= 0.0 or tolerance <= 0.0:
            return None
        return max(0, math.ceil(self.tau * math.log(max(1.0, self.amplitude / tolerance))))


def fit_saturation(values: Sequence[float], slowest: float = 1.5) -> Saturation:
    """Return the least-squares curve over time constants up to ``slowest`` times the length."""
    n = len(values)
    taus = [0.5 * (2.0 * slowest * n) ** (i / 23.0) for i in range(24)]
    return min((fit(values, tau) for tau in taus), key=lambda curve: curve.error)


def fit(values: Sequence[float], tau: float) -> Saturation:
    """Return the least-squares curve with this time constant."""
    n = len(values)
    curve = [1.0 - math.exp(-t / tau) for t in range(n)]
    mean_curve, mean_value = math.fsum(curve) / n, math.fsum(values) / n
    spread = math.fsum((c - mean_curve) ** 2 for c in curve)
    shared = math.fsum(
        (c - mean_curve) * (v - mean_value) for c, v in zip(curve, values, strict=True)
    )
    amplitude = shared / spread if spread > 0.0 else 0.0
    base = mean_value - amplitude * mean_curve
    squares = math.fsum((v - base - amplitude * c) ** 2 for c, v in zip(curve, values, strict=True))
    return Saturation(base, amplitude, tau, math.sqrt(squares / n))


def partial_slope(values: Sequence[float], on: Sequence[float], beside: Sequence[float]) -> float:
    """Return the least-squares coefficient of ``on``, fitted with ``beside`` and a level."""
    n = len(values)
    mean_value, mean_on, mean_beside = (math.fsum(x) / n for x in (values, on, beside))
    rows = [
        (v - mean_value, o - mean_on, b - mean_beside)
        for v, o, b in zip(values, on, beside, strict=True)
    ]
    own, both, other = (
        math.fsum(r[1] * r[1] for r in rows),
        math.fsum(r[1] * r[2] for r in rows),
        math.fsum(r[2] * r[2] for r in rows),
    )
    along, across = math.fsum(r[0] * r[1] for r in rows), math.fsum(r[0] * r[2] for r in rows)
    determinant = own * other - both * both
    return (along * other - across * both) / determinant if determinant > 0.0 else 0.0
