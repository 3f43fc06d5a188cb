"""A change that was tried, as text for standard error: outcome, rates and both curves."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.model.tried_fix import FixOutcome, TriedFix
from leakguard.model.units import format_bytes, format_number
from leakguard.render.sparkline import sparkline
from leakguard.render.text import clean

_WORDS: dict[FixOutcome, str] = {
    "fixed": "FIXED",
    "less": "LESS",
    "no": "NOT FIXED",
    "broke": "BROKE THE PROGRAM",
}


def told(tried: TriedFix) -> str:
    """Return the outcome in one line, and one line each for the run before and after."""
    lines = [f"{_WORDS[tried.outcome]}: {clean(tried.title)}: {clean(tried.reason)}"]
    lines += [
        _side("before", tried.before, tried.unit, tried.curve_before),
        _side("after", tried.after, tried.unit, tried.curve_after),
    ]
    return "\n".join(lines)


def _side(name: str, rate: float | None, unit: str, curve: Sequence[float]) -> str:
    if rate is None:
        return f"  {name:<6}  no run was recorded"
    amount = format_bytes(rate) if unit == "bytes" else format_number(rate)
    said = f"{amount} per generation" if unit == "bytes" else f"{amount} objects per generation"
    ends = f", {format_bytes(curve[0])} to {format_bytes(curve[-1])}" if curve else ""
    return f"  {name:<6}  {sparkline(curve)}  {said}{ends}"
