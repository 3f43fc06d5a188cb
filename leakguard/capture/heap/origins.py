"""Where live objects of some types were made, according to a tracer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from leakguard.capture.heap.classes import qualified_name
from leakguard.capture.heap.collector import collector_held
from leakguard.capture.heap.frameworks import Frameworks, loaded

#: (file, line) of the frames that made an object, innermost first.
Origin: TypeAlias = tuple[tuple[str, int], ...]
_Instances = Callable[[Frameworks, Callable[[type], bool]], list[Any]]
# If there are more live objects than this, the lines of only a sample are looked up. Chosen: each
# look-up takes ten microseconds, so this many take half a second.
_MOST_OBJECTS = 50_000


@dataclass(frozen=True, slots=True)
class Made:
    """Objects of one type from one stack: the number of live ones, and the addresses of some."""

    type: str
    lines: Origin
    count: int
    addresses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Origins:
    """The stacks that made the live objects of the wanted types, most objects first."""

    made: tuple[Made, ...]


def take_origins(
    instances: _Instances, names: Collection[str], origin_of: Callable[[object], Origin | None]
) -> Origins:
    """Return where the live objects of these types were made, by type and stack."""
    counts: Counter[tuple[str, Origin]] = Counter()
    kept: defaultdict[tuple[str, Origin], list[int]] = defaultdict(list)
    with collector_held():
        live = instances(loaded(), lambda cls: qualified_name(cls) in names)
        stride = 1 + len(live) // _MOST_OBJECTS  # each object in the sample stands for so many
        for item in islice(live, 0, None, stride):
            lines = origin_of(item)
            if lines is None:
                continue
            key = (qualified_name(type(item)), lines)
            counts[key] += stride
            seen = counts[key] // stride
            if seen & (seen - 1) == 0:  # the 1st, 2nd, 4th, 8th ...
                kept[key].append(id(item))
        live.clear()
    return Origins(
        tuple(Made(*key, count, tuple(kept[key])) for key, count in counts.most_common())
    )
