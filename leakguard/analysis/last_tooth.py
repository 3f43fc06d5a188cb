"""Recognizes memory that rises after the last collection as it rose before earlier collections.

Garbage in reference cycles makes live memory a sawtooth. A run that ends within a tooth looks as if
it had begun to leak after the last collection. Comparison with earlier teeth decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from leakguard.analysis.case import Case
from leakguard.analysis.growth import Growth
from leakguard.analysis.tolerance import MATERIAL_BYTES, NEARLY_ALL, OWN_SHARE
from leakguard.model import Cleared
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_change

# A collection must also lower the number of Python's memory blocks, because garbage consists of
# Python objects.
_SAWS = "python_blocks"


@dataclass(frozen=True, slots=True)
class _Tooth:
    """A tooth: the rise from one full collection (or the first generation) to the next one."""

    began: int
    ended: int
    low: float
    high: float

    @property
    def rise(self) -> float:
        return self.high - self.low

    @property
    def pace(self) -> float:
        """The growth per generation."""
        return self.rise / max(self.ended - self.began, 1)


def last_tooth(case: Case, growth: Growth) -> Cleared | None:
    """Clear growth of live memory that is garbage waiting for the collector; None if it is not.

    A full collection must have ended an earlier tooth at the run's start level, or above it by at
    most a tenth of the tooth. The last tooth must rise no faster than earlier teeth did. Both must
    hold for live memory and for Python's blocks.
    """
    memory, blocks = _teeth(case, growth.name), _teeth(case, _SAWS)
    if not (_is_taken_back(memory) and _is_taken_back(blocks)):
        return None
    largest = max(tooth.rise for tooth in memory[:-1])
    if largest < MATERIAL_BYTES or not (_is_no_faster(memory) and _is_no_faster(blocks)):
        return None
    name, last = growth.name, memory[-1]
    reason = (
        f"{METRICS[name].words} has risen by {format_change(last.pace)} per generation since the "
        f"last collection, in generation {last.began}; it rose as fast before, and a full "
        f"collection freed up to {format_bytes(largest)}: objects in cycles wait for the next one"
    )
    return Cleared(name, "sawtooth", reason, bytes_per_generation=last.pace)


def _teeth(case: Case, metric: str) -> list[_Tooth]:
    """Return a metric's teeth between full collections, made by the guard or by the program."""
    values = case.timeline.metric(metric).by_generation
    counted = case.timeline.metric("gc_full_collections").by_generation
    both = sorted(values.keys() & counted.keys())
    if not both:
        return []
    came = [later for before, later in pairwise(both) if counted[later] > counted[before]]
    starts = [both[0], *came]
    ends = [*(both[both.index(generation) - 1] for generation in came), both[-1]]
    return [
        _Tooth(began, ended, values[began], values[ended])
        for began, ended in zip(starts, ends, strict=True)
        if ended >= began
    ]


def _is_taken_back(teeth: list[_Tooth]) -> bool:
    """Return whether a collection before the last tooth left no more than at the start."""
    if len(teeth) < 2:
        return False
    first, highest = teeth[0].low, max(tooth.high for tooth in teeth[:-1])
    return teeth[-1].low <= first + OWN_SHARE * (highest - first)


def _is_no_faster(teeth: list[_Tooth]) -> bool:
    fastest = max(tooth.pace for tooth in teeth[:-1])
    return 0 < teeth[-1].pace * NEARLY_ALL <= fastest
