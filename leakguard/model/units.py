"""Sizes in bytes, as people write and read them: 1 GB is 10^9 bytes, 1 GiB is 2^30."""

from __future__ import annotations

import re

from leakguard.errors import UsageError, shown

KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12
#: Seconds.
MINUTE, HOUR, DAY = 60, 3_600, 86_400

UNITS = {
    "b": 1, "kb": KB, "mb": MB, "gb": GB, "tb": TB,
    "k": KB, "m": MB, "g": GB, "t": TB,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
    "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "bytes": 1,
}  # fmt: skip

_SIZE = re.compile(r"\s*([+-]?\d[\d,_]*(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(size: str | int | float) -> int:
    """Return the bytes that ``"50 MB"``, ``"1.5GiB"`` or a plain number of bytes stands for.

    Raises:
        UsageError: the text is not a number with a known unit, or is negative.
    """
    if isinstance(size, int | float) and not isinstance(size, bool):
        number, unit = _as_float(size), "b"
    else:
        match = _SIZE.fullmatch(_text(size))
        if match is None:
            raise UsageError(f"{shown(size)} is not a size; write for example '50 MB' or '1.5 GiB'")
        number, unit = float(re.sub("[,_]", "", match[1])), match[2].lower() or "b"
    if unit not in UNITS:
        units = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"
        raise UsageError(f"{shown(size)} has an unknown unit; use {units}")
    if not 0 <= number < float("inf"):
        raise UsageError(f"{shown(size)} is not a size; it must be zero or more and finite")
    return round(number * UNITS[unit])


def _text(size: object) -> str:
    """Return the text of a size; an empty text if the object's ``__str__`` fails."""
    try:
        return str(size)
    except Exception:
        return ""


def _as_float(size: int | float) -> float:
    """Return the number as a float; infinity, which the caller refuses, if it is too large."""
    try:
        return float(size)
    except OverflowError:
        return float("inf")


def format_bytes(size: float) -> str:
    """Return a size in the unit that leaves one to three digits before the decimal point."""
    sign = "-" if size < 0 else ""
    size = abs(size)
    for unit, scale in (("TB", TB), ("GB", GB), ("MB", MB), ("kB", KB)):
        if size >= scale * 0.9995:
            return f"{sign}{_three_digits(size / scale)} {unit}"
    return f"{sign}{size:.0f} B"


def format_change(size: float) -> str:
    """Return a difference in bytes with its sign, ``"+7.2 GB"``."""
    return ("+" if size >= 0 else "") + format_bytes(size)


def format_size(size: float, like: float | None = None) -> str:
    """Return a size with two decimals, ``8.52 GB``, in the unit that fits ``like`` or the size.

    Columns of numbers and the log blocks use this format.
    """
    for unit, scale in (("GB", GB), ("MB", MB), ("kB", KB)):
        if abs(size if like is None else like) >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size:.0f} B"


def format_size_change(size: float, like: float | None = None) -> str:
    """Return a difference with its sign and two decimals, ``+4.29 GB``."""
    text = format_size(size, like)
    if text.startswith("-0.00 "):  # a difference that rounds to zero has no sign
        text = text[1:]
    return text if text.startswith("-") else f"+{text}"


def format_number(value: float) -> str:
    """Return a count or an average of counts: ``16``, ``1,234``, ``0.5``."""
    if abs(value) >= 1e15:  # no count is that large, and infinity has no digits
        return f"{value:.3g}"
    if abs(value) >= 1_000 or abs(value - round(value)) < 0.05:
        return f"{round(value):,}"
    return f"{value:,.1f}" if abs(value) >= 0.1 else f"{value:.2g}"


def format_difference(value: float) -> str:
    """Return a difference of counts with its sign, ``"+16"``."""
    return ("+" if value >= 0 else "") + format_number(value)


def _three_digits(number: float) -> str:
    return f"{number:.1f}" if number < 99.95 else f"{number:.0f}"


def duration(seconds: float) -> str:
    """Return a duration in plain words: ``4.2 s``, ``3 h 10 min``, ``12 days``."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / MINUTE)
    if minutes < 90:
        return f"{minutes} min"
    if seconds < 2 * DAY:
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{round(seconds / DAY):,} days"
