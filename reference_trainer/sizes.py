"""Sizes of leaks as people write them."""

from __future__ import annotations

from leakguard import UsageError
from leakguard.model import units
from reference_trainer.errors import ConfigError


def parse_size(text: str) -> int:
    """Bytes from a number with a unit, e.g. `20 MB`; more than none."""
    try:
        size = units.parse_size(text)
    except UsageError:
        raise ConfigError(f'{text!r} is not a size: write it like "20 MB"') from None
    if size <= 0:
        raise ConfigError(f"a leak of {text} is no leak: give a size above 0")
    return size
