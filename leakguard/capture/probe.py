"""A probe reads some numbers of the process; if it fails, the reason is noted, without an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from leakguard.alarm import pass_on

Reading = Mapping[str, int | float]
Probe = Callable[[], Reading]


class Unavailable(Exception):
    """Raised by a probe that cannot read its number on this system; the text is the reason."""


@dataclass(slots=True)
class Measurement:
    """The numbers that probes read, and for each probe that failed, the reason."""

    metrics: dict[str, int | float] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)


def measure(probes: Iterable[tuple[str, Probe]]) -> Measurement:
    """Run named probes one after the other; an exception becomes the probe's reason."""
    result = Measurement()
    for name, probe in probes:
        try:
            result.metrics.update(probe())
        except Unavailable as reason:
            result.unavailable[name] = reason_of(reason)
        except Exception as error:  # the watched program never fails because of a probe
            pass_on(error)
            result.unavailable[name] = reason_of(error)
    return result


def reason_of(error: BaseException) -> str:
    """Return the note about an error: its text, or only its type if the text cannot be read."""
    if isinstance(error, Unavailable):
        return str(error)
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
