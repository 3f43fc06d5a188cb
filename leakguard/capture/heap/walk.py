"""The pure-Python walk over every live object, whether the collector tracks it or not."""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, filterfalse, islice
from types import CodeType
from typing import Any

from leakguard.capture.heap.classes import HAS_GC, derives, flags
from leakguard.capture.heap.frames import local_variables, running_frames
from leakguard.capture.heap.frameworks import Frameworks, Numpy
from leakguard.capture.heap.sizes import sizer_of
from leakguard.capture.heap.tally import ClassCount, Tally

_CHUNK = 4096
_CODE_PARTS = (
    "co_consts",
    "co_names",
    "co_filename",
    "co_name",
    "co_qualname",
    "co_linetable",
    "co_exceptiontable",
)
_READ_CODE = tuple(
    CodeType.__dict__[part].__get__ for part in _CODE_PARTS if part in CodeType.__dict__
)
# By the identity of the class: some metaclasses make classes that cannot be hashed.
ByClass = defaultdict[int, list[Any]]


def tally(frameworks: Frameworks, large: int) -> Tally:
    """Count every live object once, by exact class.

    ``large`` is the size in bytes from which a single object is listed on its own.
    """
    result = Tally([], [], [], [])
    for instances in live_objects(frameworks).values():
        _count(instances, large, result)
        _hand_over(instances, frameworks, result)
    return result


def live_objects(frameworks: Frameworks) -> ByClass:
    """Return all live objects by the identity of their class."""
    tracked = gc.get_objects()
    seen = _Seen(tracked)
    everything: ByClass = defaultdict(list)
    wave = _by_class(chain(tracked, seen.fresh(_beside_the_collector())))
    while wave:
        for key, instances in wave.items():
            everything[key].extend(instances)
        wave = _by_class(seen.fresh(_referents(wave, frameworks)))
    return everything


class _Seen:
    """Tells new objects from those that the collector listed or an earlier wave brought."""

    def __init__(self, tracked: list[object]) -> None:
        self._known: dict[int, object] = {}
        self._is_listed: Callable[[object], bool] = gc.is_tracked
        if gc.get_freeze_count():  # frozen objects are tracked and yet in no list
            listed = set(map(id, tracked))
            listed.add(id(tracked))
            self._is_listed = lambda item: id(item) in listed

    def fresh(self, groups: Iterable[Iterable[object]]) -> list[object]:
        """Return the objects of the groups that were not seen before, each once."""
        new: list[object] = []
        for group in groups:
            batch = {id(item): item for item in filterfalse(self._is_listed, group)}
            new += [item for key, item in batch.items() if key not in self._known]
            self._known.update(batch)
        return new


def _by_class(items: Iterable[object]) -> ByClass:
    sorted_in: ByClass = defaultdict(list)
    for item in items:
        sorted_in[id(type(item))].append(item)
    return sorted_in


def _beside_the_collector() -> Iterator[Iterable[object]]:
    yield sys.modules.values()
    for _, frame in running_frames():
        yield local_variables(frame).values()


def _referents(wave: ByClass, frameworks: Frameworks) -> Iterator[Iterable[object]]:
    for instances in wave.values():
        cls = type(instances[0])
        if flags(cls) & HAS_GC:
            remaining = iter(instances)
            while chunk := list(islice(remaining, _CHUNK)):
                yield gc.get_referents(*chunk)
        read = _adapter(cls, frameworks)
        if read is not None:
            yield from map(read, instances)


def _adapter(cls: type, frameworks: Frameworks) -> Callable[[Any], Iterable[object]] | None:
    if cls is CodeType:
        return lambda code: [read(code) for read in _READ_CODE]
    numpy = frameworks.numpy
    if numpy and derives(cls, numpy.kind):
        return lambda array: array_referents(array, numpy)
    return None


def array_referents(array: Any, numpy: Numpy) -> Iterator[object]:
    """Yield what an array keeps alive and no traversal shows: its base, its object elements."""
    yield numpy.base(array)
    if numpy.holds_objects(array):
        yield from numpy.flat(array)


def _count(instances: list[Any], large: int, result: Tally) -> None:
    cls, sizer = type(instances[0]), sizer_of(type(instances[0]))
    if isinstance(sizer, int):
        result.classes.append(ClassCount(cls, len(instances), sizer * len(instances)))
        return
    sizes = list(map(sizer, instances))
    result.classes.append(ClassCount(cls, len(sizes), sum(sizes)))
    result.large.extend((cls, size) for size in sizes if size >= large)


def _hand_over(instances: list[Any], frameworks: Frameworks, result: Tally) -> None:
    cls = type(instances[0])
    if frameworks.numpy and derives(cls, frameworks.numpy.kind):
        result.arrays.extend(instances)
    elif frameworks.torch and derives(cls, frameworks.torch.kind):
        result.tensors.extend(instances)
