"""Sizes as people write them."""

from __future__ import annotations

from reference_trainer.errors import ConfigError


def parse_size(text: str) -> int:
    """Bytes from a number with a unit, e.g. `20 MB`."""
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9,
             "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}  # fmt: skip
    number = text.strip().rstrip("BKMGIbkmgi").strip()
    unit = text.strip()[len(number) :].strip().upper()
    try:
        size = int(float(number) * units[unit])
    except (ValueError, KeyError):
        raise ConfigError(f'{text!r} is not a size: write it like "20 MB"') from None
    if size <= 0:
        raise ConfigError(f"a leak of {text} is no leak: give a size above 0")
    return size
