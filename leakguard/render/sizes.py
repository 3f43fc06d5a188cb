"""Memory with two decimals, in one unit for a whole table, as the log blocks print it."""

from __future__ import annotations

from leakguard.model.units import GB, KB, MB


def size(amount: float, like: float | None = None) -> str:
    """Return memory with two decimals, ``8.52 GB``, in the unit that fits ``like`` or itself."""
    for unit, scale in (("GB", GB), ("MB", MB), ("kB", KB)):
        if abs(amount if like is None else like) >= scale:
            return f"{amount / scale:.2f} {unit}"
    return f"{amount:.0f} B"


def change_of_size(amount: float, like: float | None = None) -> str:
    """Return a difference with its sign, ``+4.29 GB``."""
    text = size(amount, like)
    if text.startswith("-0.00 "):  # what rounds to nothing has no direction
        text = text[1:]
    return text if text.startswith("-") else f"+{text}"
