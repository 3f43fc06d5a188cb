"""Exploration noise, one process per agent."""

from __future__ import annotations

import numpy as np


class GaussianNoise:
    """Independent normal noise of a fixed scale."""

    def __init__(self, size: int, scale: float) -> None:
        self.size, self.scale = size, scale

    def reset(self) -> None:
        """Start a new episode; there is no state to forget."""

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Float32 `[size]`."""
        return (self.scale * rng.standard_normal(self.size)).astype(np.float32)


class OrnsteinUhlenbeckNoise:
    """Temporally correlated noise (Uhlenbeck & Ornstein 1930, as in Lillicrap et al. 2016)."""

    def __init__(self, size: int, scale: float, theta: float = 0.15, sigma: float = 0.2) -> None:
        self.size, self.scale = size, scale
        self.theta, self.sigma = theta, sigma
        self._state = np.zeros(size)

    def reset(self) -> None:
        """Start a new episode at the mean."""
        self._state[:] = 0.0

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Float32 `[size]`."""
        self._state += -self.theta * self._state + self.sigma * rng.standard_normal(self.size)
        return (self.scale * self._state).astype(np.float32)


Noise = GaussianNoise | OrnsteinUhlenbeckNoise


def make_noise(kind: str, size: int, scale: float) -> Noise:
    """The noise process by its name in the configuration."""
    return GaussianNoise(size, scale) if kind == "gaussian" else OrnsteinUhlenbeckNoise(size, scale)
