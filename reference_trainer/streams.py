"""Random numbers by purpose: every draw can be repeated from (seed, purpose, generation)."""

from __future__ import annotations

import enum

import numpy as np


class Purpose(enum.IntEnum):
    """What a stream of random numbers decides; the values are part of a run's identity."""

    EVALUATION = 0
    TRAINING = 1
    EVOLUTION = 2


def stream(seed: int, purpose: Purpose, generation: int, *more: int) -> np.random.Generator:
    """A stream of its own, whatever was drawn before it and in whichever process."""
    return np.random.default_rng([seed, int(purpose), generation, *more])
