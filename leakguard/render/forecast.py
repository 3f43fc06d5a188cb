"""When memory runs out, in words."""

from __future__ import annotations

from leakguard.model.forecast import Forecast
from leakguard.model.units import format_bytes, format_change

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def forecast_sentence(forecast: Forecast) -> str:
    """Return ``at +7.2 GB per generation the limit of 175 GB is reached in ...``."""
    details = [text for text in (_range(forecast), _time(forecast)) if text]
    more = f" ({', '.join(details)})" if details else ""
    return (
        f"at {format_change(forecast.rate)} per generation the limit of "
        f"{format_bytes(forecast.limit)} is reached in generation {forecast.generation:,}{more}"
    )


def duration(seconds: float) -> str:
    """Return a duration in plain words: ``3 h 10 min``, ``12 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / _MINUTE)
    if minutes < 90:
        return f"{minutes} min"
    if seconds < 2 * _DAY:
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{round(seconds / _DAY):,} days"


def _range(forecast: Forecast) -> str:
    if forecast.between is None:
        return ""
    first, last = forecast.between
    if last is None:
        return f"{first:,} at the earliest"
    return "" if first == last else f"between {first:,} and {last:,}"


def _time(forecast: Forecast) -> str:
    return "" if forecast.seconds is None else f"in about {duration(forecast.seconds)}"
