"""Whether the memory of a process rises steadily, by its samples alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

# The lowest samples of so many windows that follow each other must rise, each by at least this many
# bytes. Chosen: a peak does not raise the lowest sample of its window, a sawtooth raises that of
# none, and four windows are the fewest in which three rises are seen. A quarter of one of Python's
# arenas is more than what an interpreter needs now and then.
_WINDOWS, _LEAST_RISE = 4, 262_144
# Widths of windows in samples, by which faster and slower leaks are found.
_WIDTHS = tuple(2**power for power in range(1, 10))
# Samples after the first sight of a process that count for nothing: it imports its modules.
_IMPORTING = 4
_KEPT_SAMPLES = _WINDOWS * _WIDTHS[-1]
# Windows before those that rise, whose lowest samples must lie below the last one. Chosen: what
# fills a buffer and empties it again and again comes to no new height.
_EARLIER = 60


@dataclass(slots=True)
class Ascent:
    """The samples of one process since it was first seen."""

    _samples: list[int] = field(default_factory=list)
    _taken: int = -_IMPORTING
    _fresh: int = 0

    def add(self, size: int) -> int | None:
        """Add a sample in bytes; return the width in samples at which memory rises, or None."""
        self._taken += 1
        if self._taken <= 0:
            return None
        self._samples.append(size)
        self._fresh += 1
        if len(self._samples) > 2 * _KEPT_SAMPLES:
            del self._samples[:-_KEPT_SAMPLES]
        return next((width for width in _WIDTHS if self._rises(width)), None)

    def begin_anew(self) -> None:
        """Let only samples from now on count as a rise: what rose until now was looked into."""
        self._fresh = 0

    def _rises(self, width: int) -> bool:
        """Return whether it rises at this width, at the samples that complete a window of it."""
        if self._taken % width or self._fresh < _WINDOWS * width:
            return False
        count = len(self._samples)
        windows = min(count // width, _WINDOWS + _EARLIER)
        begins = range(count - windows * width, count, width)
        floors = [min(self._samples[begin : begin + width]) for begin in begins]
        rising, before = floors[-_WINDOWS:], floors[:-_WINDOWS]
        return all(b - a >= _LEAST_RISE for a, b in pairwise(rising)) and (
            rising[-1] - max(before, default=0) >= _LEAST_RISE
        )
