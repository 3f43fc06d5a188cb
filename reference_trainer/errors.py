"""What a run can refuse, each said in one line: the limit, the fact, the next step.

TrainerError
├── ConfigError      a setting that cannot work
├── DataError        market data that cannot be used
└── CheckpointError  a checkpoint that cannot be trusted or does not fit
"""

from __future__ import annotations


class TrainerError(ValueError):
    """The base of everything this package raises on purpose."""


class ConfigError(TrainerError):
    """A setting that cannot work."""


class DataError(TrainerError):
    """Market data that cannot be used."""


class CheckpointError(TrainerError):
    """A checkpoint that cannot be trusted, or that belongs to other settings."""
