"""The heap engine: what is alive, how large it really is, and who holds it.

Every public function returns plain values; no reference to a user's object outlives a call, and no
user code runs in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from leakguard.capture.heap.census import take_census
from leakguard.capture.heap.result import HeapCensus
from leakguard.capture.heap.walk import tally

ENGINE = "python"
LARGE_OBJECT = 50_000_000
_NOTHING: Mapping[str, type] = MappingProxyType({})

__all__ = ["ENGINE", "LARGE_OBJECT", "HeapCensus", "census"]


def census(watch: Mapping[str, type] = _NOTHING, large: int = LARGE_OBJECT) -> HeapCensus:
    """Count and size every live object by type, arrays and tensors by their unique memory.

    ``watch`` maps names to classes whose instances (subclasses included) are counted under that
    name. Objects of at least ``large`` bytes are listed one by one.
    """
    return take_census(tally, ENGINE, watch, large)
