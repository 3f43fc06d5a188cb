"""The pure-Python walk over every live object, whether the collector tracks it or not."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, filterfalse, islice
from typing import Any

from leakguard.capture.heap.adapters import census_layouts
from leakguard.capture.heap.classes import basic_size, derives
from leakguard.capture.heap.frames import local_variables, running_frames
from leakguard.capture.heap.frameworks import Frameworks
from leakguard.capture.heap.half_built import finished, has_c_fields, referents
from leakguard.capture.heap.layout import ClassLayout
from leakguard.capture.heap.sizes import hidden_values_size, holds_dict
from leakguard.capture.heap.tally import ClassCount, Tally

_CHUNK = 4096
Describe = Callable[[type], ClassLayout]
# Objects by the id of their class. The class itself cannot be the key, because some metaclasses
# make classes that cannot be hashed.
ByClass = defaultdict[int, list[Any]]


def tally(frameworks: Frameworks, large: int) -> Tally:
    """Count every live object once, by exact class.

    ``large`` is the size in bytes from which a single object is listed on its own.
    """
    result = Tally([], [], [], [])
    describe = census_layouts(frameworks)
    for instances in live_objects(describe).values():
        _count_instances(instances, describe(type(instances[0])), large, result)
        _hand_over(instances, frameworks, result)
    return result


def instances(frameworks: Frameworks, wanted: Callable[[type], bool]) -> list[Any]:
    """Return every live object of the wanted classes, each once."""
    found = live_objects(census_layouts(frameworks)).values()
    return [item for group in found if wanted(type(group[0])) for item in group]


def address_of(reference: weakref.ref[Any]) -> int:
    """Return the address of a weak reference's target; 0 if it is gone."""
    item = reference()
    return 0 if item is None else id(item)


def live_objects(describe: Describe) -> ByClass:
    """Return all live objects by the identity of their class."""
    # Local variables are read before ``tracked`` is made. Reading them fills a dict of each frame.
    # ``local_variables`` empties the dict again, but only if nothing else refers to the dict, and
    # ``tracked`` would refer to it.
    beside = tuple(map(tuple, _beside_the_collector()))
    tracked = gc.get_objects()
    seen = _Seen(tracked)
    everything: ByClass = defaultdict(list)
    wave = _by_class(chain(tracked, seen.fresh(beside)))
    while wave:
        for key, instances in wave.items():
            everything[key].extend(instances)
        wave = _by_class(seen.fresh(_referents(wave, describe)))
    return everything


class _Seen:
    """Finds the objects that neither the collector listed nor an earlier wave found."""

    def __init__(self, tracked: list[object]) -> None:
        self._known: dict[int, object] = {}
        self._is_listed: Callable[[object], bool] = gc.is_tracked
        if gc.get_freeze_count():  # frozen objects are tracked but in no list
            listed = set(map(id, tracked))
            listed.add(id(tracked))
            self._is_listed = lambda item: id(item) in listed

    def fresh(self, groups: Iterable[Iterable[object]]) -> list[object]:
        """Return the objects of the groups that are new, each once."""
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


def _referents(wave: ByClass, describe: Describe) -> Iterator[Iterable[object]]:
    for instances in wave.values():
        layout = describe(type(instances[0]))
        if layout.traversed:
            cls = type(instances[0])
            whole = cls is tuple or cls is dict  # see layout.may_traverse
            known = finished(instances) if has_c_fields(cls) else instances
            remaining = iter(known) if whole else filter(gc.is_tracked, known)
            while chunk := list(islice(remaining, _CHUNK)):
                yield referents(*chunk)
        if layout.read is not None:
            for parts, elements in map(layout.read, finished(instances)):
                yield parts
                yield elements


def _count_instances(instances: list[Any], layout: ClassLayout, large: int, result: Tally) -> None:
    cls = type(instances[0])
    if layout.method is None and not layout.hidden:
        result.classes.append(ClassCount(cls, len(instances), layout.fixed * len(instances)))
        return
    sizes = _sizes(instances, layout)
    result.classes.append(ClassCount(cls, len(sizes), sum(sizes)))
    result.large.extend((cls, size) for size in sizes if size >= large)


def _sizes(instances: list[Any], layout: ClassLayout) -> list[int]:
    if layout.method is not None:
        cls = type(instances[0])
        known = finished(instances) if has_c_fields(cls) else instances
        blank = [basic_size(cls) + layout.header] * (len(instances) - len(known))
        return [size + layout.header for size in map(layout.method, known)] + blank
    return [
        layout.fixed + hidden_values_size(len(found), len(found) == 2 and holds_dict(found))
        for found in map(referents, instances)
    ]


def _hand_over(instances: list[Any], frameworks: Frameworks, result: Tally) -> None:
    cls = type(instances[0])
    if frameworks.numpy and derives(cls, frameworks.numpy.kind):
        result.arrays.extend(finished(instances))
    elif frameworks.torch and derives(cls, frameworks.torch.kind):
        result.tensors.extend(finished(instances))
