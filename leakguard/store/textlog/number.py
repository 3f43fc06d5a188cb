"""Numbers as logs print them; a number that cannot be read for certain is None, never a guess."""

from __future__ import annotations

import functools
import re

from leakguard.model.units import UNITS
from leakguard.store.spellings import NUMBER

_NUMBER = re.compile(NUMBER)
_SIZE = re.compile(rf"([+-]?)\s{{0,40}}({NUMBER})\s{{0,40}}([A-Za-z]{{1,5}})")
# Larger values come from damaged text: no machine has 2^63 bytes or objects.
LARGEST = 2**63


# Cached: the same size occurs in many blocks.
@functools.lru_cache(maxsize=1024)
def parse_bytes(text: str, whole: bool = True) -> int | None:
    """Return the bytes of ``"1,234.5 MiB"``; None for a number without a unit.

    If the line may have been cut (``whole`` is false), a unit must end in B: ``8.5 M`` could have
    been ``8.5 MiB``.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    unit = match[3].lower()
    if unit not in UNITS or not (whole or unit.endswith("b")):
        return None
    size = _plain(match[2]) * UNITS[unit]
    return None if size >= LARGEST else round(-size if match[1] == "-" else size)


def parse_count(text: str) -> int | None:
    """Return the whole number in ``"15,678"``; None if the text is not a whole number."""
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text)
    value = parse_number(text)
    return int(value) if value is not None and "." not in text else None


def parse_number(text: str) -> float | int | None:
    """Return the number in ``"15,680"`` or ``"0.5"``; None if the text is not a number."""
    text = text.strip()
    if _NUMBER.fullmatch(text) is None or len(text) > 40:
        return None
    value = _plain(text)
    return None if value >= LARGEST else value


@functools.lru_cache(maxsize=1024)
def resolution(text: str) -> int:
    """Return the bytes in one unit of the last printed digit of a size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[3].lower() not in UNITS:
        return 0
    decimals = len(match[2].partition(".")[2])
    scale: int = UNITS[match[3].lower()]
    return max(1, round(scale / 10.0**decimals))


def _plain(digits: str) -> float | int:
    digits = digits.replace(",", "").replace("_", "")
    return float(digits) if "." in digits else int(digits[:40])
