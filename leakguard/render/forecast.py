"""When memory runs out, in words."""

from __future__ import annotations

from leakguard.model.forecast import Forecast
from leakguard.model.units import duration, format_bytes, format_change


def forecast_sentence(forecast: Forecast) -> str:
    """Return ``at +7.2 GB per generation the limit of 175 GB is reached in ...``."""
    details = [text for text in (_range(forecast), _time(forecast)) if text]
    more = f" ({', '.join(details)})" if details else ""
    return (
        f"at {format_change(forecast.rate)} per generation the limit of "
        f"{format_bytes(forecast.limit)} is reached in generation {forecast.generation:,}{more}"
    )


def _range(forecast: Forecast) -> str:
    if forecast.between is None:
        return ""
    first, last = forecast.between
    if last is None:
        return f"{first:,} at the earliest"
    return "" if first == last else f"between {first:,} and {last:,}"


def _time(forecast: Forecast) -> str:
    return "" if forecast.seconds is None else f"in about {duration(forecast.seconds)}"
