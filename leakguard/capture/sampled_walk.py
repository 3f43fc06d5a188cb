"""Who holds the memory, estimated from samples: for a process that has hardly any memory left.

A walk over the whole heap takes 150 to 280 bytes an object (``reports/heap/look_memory.md``), in a
copy of the process or here. Near a limit that is more than there is. This walk takes a few entries
of each container instead and lets each of them stand for many. So it takes a bounded number of
steps, a bounded time and a bounded amount of memory, whatever the program holds, and needs no copy.

Containers are followed from the modules and the local variables of running functions, breadth
first, so that each object lies at its shortest path. All bytes are estimates. What only C code
holds is not found.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from leakguard.capture.heap.adapters import GraphAdapters
from leakguard.capture.heap.classes import (
    derives,
    from_library,
    from_standard_library,
    namespace,
    qualified_name,
)
from leakguard.capture.heap.collector import collector_held
from leakguard.capture.heap.frameworks import loaded
from leakguard.capture.heap.graph import MAX_RECORD
from leakguard.capture.heap.half_built import has_c_fields, is_blank, referents
from leakguard.capture.heap.layout import (
    DICT,
    ELEMENTS,
    LIST,
    MEMORY,
    TUPLE,
    ClassLayout,
    Memory,
    may_traverse,
)
from leakguard.capture.heap.roots import Root, is_ours, local_roots, module_roots
from leakguard.capture.heap.sizes import holds_dict
from leakguard.capture.heap.traces import stable_name, trace_to
from leakguard.capture.library import is_library
from leakguard.model.holder import ELEMENT, Holder

# Entries that are taken of a container: all of a small one, evenly spaced ones of a larger one.
# Chosen: the mean of 48 entries of similar size is within some per cent.
_WHOLE, _SAMPLED = 64, 48
# Instances at one path whose attributes are read, and levels that are followed. Chosen.
_A_GROUP, _DEEPEST = 64, 12
#: Steps and seconds of CPU that a walk takes at most, and about the bytes of a step. Measured: a
#: step takes 8 to 15 µs and 300 bytes.
MOST_STEPS, LONGEST, A_STEP = 20_000, 0.4, 400
# A container grew if it has this share more entries than before. Chosen.
_GREW = 1.02
# Without an earlier walk, a container with at least so many entries is named, and not what lies in
# its entries. Chosen: a population or a list of workers has fewer.
_MANY = 24
# A holder is named if it holds at least this share of what was found; at most so many are.
_WORTH_NAMING, _MOST_NAMED = 0.02, 6
# Paths that are remembered for the next walk, those with the most bytes.
_MOST_REMEMBERED = 300

Path = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a walk found: the holders with the most bytes, and the entries of containers by path.

    ``whole`` is False if the walk ended before it had followed everything.
    """

    holders: tuple[Holder, ...]
    sizes: Mapping[Path, float]
    bytes: int
    steps: int
    whole: bool


class _Spot:
    """All objects at one path: how many there are and their bytes, estimated; and one of them."""

    __slots__ = ("bytes", "children", "count", "deep", "entries", "key", "parent", "root", "sample")

    def __init__(self, parent: _Spot | None, key: object, sample: Any, root: str | None) -> None:
        self.parent, self.key, self.sample, self.root = parent, key, sample, root
        self.count = self.bytes = self.deep = self.entries = 0.0
        self.children: dict[object, _Spot] = {}

    @property
    def path(self) -> Path:
        return (*(() if self.parent is None else self.parent.path), self.key)

    def above(self) -> Iterator[_Spot]:
        """Yield the places from the root down to this one."""
        if self.parent is not None:
            yield from self.parent.above()
        yield self


@dataclass(slots=True)
class _References:
    """A place with references to its objects; each stands for ``weight`` references."""

    place: _Spot
    found: list[tuple[Any, float]] = field(default_factory=list)


class _Walk:
    """One walk; it holds objects of the program, and must not outlive the public call."""

    def __init__(
        self, steps: int, clock: Callable[[], float], until: float, on_devices: bool
    ) -> None:
        self.left, self.clock, self.until = steps, clock, until
        self.on_devices = on_devices
        self.describe = GraphAdapters(loaded(), weighs_devices=on_devices).describe
        self.layouts: dict[int, ClassLayout] = {}
        self.seen: set[int] = set()
        self.kept: list[Any] = []  # nodes of memory, which nothing else refers to
        self.roots: list[_Spot] = []

    @property
    def is_spent(self) -> bool:
        return self.left <= 0 or self.clock() > self.until

    def follow(self, roots: Iterable[tuple[Any, str, bool]]) -> None:
        """Follow everything from these roots, level by level."""
        wave = []
        for item, name, is_namespace in roots:
            place = _Spot(None, name, item, name)
            self.roots.append(place)
            wave.append(_References(place, [(item, 1.0)]))
            self.layouts.setdefault(id(type(item)), self._layout(type(item)))
            if is_namespace:
                place.entries = -1.0  # a namespace: its entries are names
        for _ in range(_DEEPEST):
            wave = [below for group in wave if not self.is_spent for below in self._below(group)]
            if not wave:
                return

    def _layout(self, cls: type) -> ClassLayout:
        known = self.layouts.get(id(cls))
        if known is None:
            known = self.layouts[id(cls)] = self.describe(cls)
        return known

    def _below(self, group: _References) -> Iterable[_References]:
        """Count the objects of a group; return the groups of what they refer to."""
        place, below = group.place, dict[object, _References]()
        found = self._distinct(group.found)
        step = -(-len(found) // _A_GROUP) or 1
        scale = len(found) / max(len(found[::step]), 1)
        for item, weight in found[::step]:
            self.left -= 1
            weight *= scale
            self._count(place, item, weight, below)
        return below.values()

    def _distinct(self, found: list[tuple[Any, float]]) -> list[tuple[Any, float]]:
        """Return each new object once, with the number of objects that it stands for.

        If references lead to the same few objects, there are only these: a list of a thousand
        times the same array holds one array.
        """
        fresh = {id(item): (item, weight) for item, weight in found if id(item) not in self.seen}
        if not fresh:
            return []
        self.seen.update(fresh)
        if len(fresh) > len(found) // 2 and len(fresh) < len(found):
            share = len(fresh) / len(found)
            return [(item, max(weight * share, 1.0)) for item, weight in fresh.values()]
        if len(fresh) <= len(found) // 2:
            return [(item, 1.0) for item, _ in fresh.values()]
        return list(fresh.values())

    def _count(
        self, place: _Spot, item: Any, weight: float, below: dict[object, _References]
    ) -> None:
        cls = type(item)
        layout = self._layout(cls)
        place.count += weight
        if layout.kind == MEMORY:
            self.kept.append(item)
            place.bytes += weight * int(item)
            return
        if has_c_fields(cls) and is_blank(item):
            return
        told, length = self._parts(item, layout)
        with_dict = len(told) == 2 and holds_dict(part for _, part in told)
        if not self.on_devices:
            place.bytes += weight * layout.size(item, len(told), with_dict)
        if length is not None and place.entries >= 0.0:
            place.entries += weight * length
        taken = sum(1 for key, _ in told if key == ELEMENT)
        each = weight if length is None else weight * length / max(taken, 1)
        for key, part in told:
            if not _is_passed_over(part) and part is not cls:
                group = below.get(key)
                if group is None:
                    child = _Spot(place, key, part, None)
                    group = below[key] = _References(child)
                    place.children[key] = child
                group.found.append((part, each if key == ELEMENT else weight))

    def _parts(self, item: Any, layout: ClassLayout) -> tuple[list[tuple[object, Any]], int | None]:
        """Return what an object refers to, each with a key; and how many entries a container has.

        Of a container, some entries are returned.
        """
        if not may_traverse(layout, item) and layout.read is None:
            return [], None
        kind, cls = layout.kind, type(item)
        try:
            if kind == DICT:
                return _dict_parts(item)
            if kind == LIST or (kind == TUPLE and "_fields" not in namespace(cls)):
                base: Any = list if kind == LIST else tuple
                length = base.__len__(item)
                return [(ELEMENT, base.__getitem__(item, i)) for i in _chosen(length)], length
            if kind == ELEMENTS:
                own: Any = next(base for base in (set, frozenset, deque) if derives(cls, base))
                length = own.__len__(item)
                taken = islice(own.__iter__(item), 0, None, _step(length))
                return [(ELEMENT, part) for part in taken], length
        except (
            RuntimeError,
            TypeError,
            IndexError,
            StopIteration,
        ):  # a thread changed it, or it is unfinished
            return [], None
        if cls is FunctionType:  # not its globals: they are a module's
            held = (item.__closure__, item.__defaults__, item.__kwdefaults__)
            return [(i, part) for i, part in enumerate(held)], None
        told: list[tuple[object, Any]] = [
            ((id(cls), i), part) for i, part in enumerate(self._referents(item, layout))
        ]
        return told, None

    def _referents(self, item: Any, layout: ClassLayout) -> list[Any]:
        parts = referents(item) if may_traverse(layout, item) else []
        if layout.read is not None:
            named, elements = layout.read(item)
            parts += [*named, *islice(elements, _SAMPLED)]
        return parts


def _dict_parts(item: dict[Any, Any]) -> tuple[list[tuple[object, Any]], int | None]:
    length = dict.__len__(item)
    if length <= MAX_RECORD:
        entries = list(dict.items(item))
        if all(type(key) is str for key, _ in entries):
            return [(key, value) for key, value in entries], None
    step = _step(length)
    values = list(islice(dict.values(item), 0, None, step))
    keys = list(islice(dict.keys(item), 0, None, step))
    return [*((ELEMENT, value) for value in values), *(("key", key) for key in keys)], length


def _step(length: int) -> int:
    return 1 if length <= _WHOLE else -(-length // _SAMPLED)


def _chosen(length: int) -> range:
    return range(0, length, _step(length))


def estimate(
    before: Mapping[Path, float],
    steps: int = MOST_STEPS,
    clock: Callable[[], float] | None = None,
    *,
    on_devices: bool = False,
) -> Estimate:
    """Return who holds the memory, estimated from samples.

    Args:
        before: the sizes that an earlier walk returned; what has grown since is named first.
        steps: the most objects that are looked at.
        clock: seconds of CPU time.
        on_devices: weigh what lies on GPUs and other devices, instead of host memory.
    """
    clock = clock or time.thread_time
    with collector_held():
        walk = _Walk(steps, clock, clock() + LONGEST, on_devices)
        try:
            own, libraries = _roots()
            # What a module holds is named by it, not by a function that works at it just now; and
            # what libraries hold comes last, because there is much of it.
            walk.follow(own)
            walk.follow(chain(local_roots(standard=False), local_roots(standard=True)))
            walk.follow(libraries)
            return _told(walk, before, steps)
        finally:
            walk.kept.clear()
            walk.roots.clear()


def _roots() -> tuple[list[Root], list[Root]]:
    """Return the namespaces of the program's modules, and those of libraries."""
    parts: tuple[list[Root], list[Root]] = ([], [])
    for root in chain(module_roots(standard=False), module_roots(standard=True)):
        names = root[0]
        file = names.get("__file__") if type(names) is dict else None
        own = root[1] == "__main__" or (type(file) is str and not is_library(file))
        parts[0 if own else 1].append(root)
    return parts


def _told(walk: _Walk, before: Mapping[Path, float], steps: int) -> Estimate:
    places = list(_all_places(walk.roots))
    for place in reversed(places):  # children come after their parents
        place.deep += place.bytes
        if place.parent is not None:
            place.parent.deep += place.deep
    whole = sum(root.deep for root in walk.roots)
    containers = [place for place in places if ELEMENT in place.children and place.entries > 0]
    named = _chosen_holders(containers, walk.roots, before, _WORTH_NAMING * whole)
    largest = sorted(containers, key=lambda place: -place.deep)[:_MOST_REMEMBERED]
    return Estimate(
        holders=tuple(_holder(place, walk, before) for place in named),
        sizes={place.path: place.entries for place in largest},
        bytes=int(whole),
        steps=steps - walk.left,
        whole=not walk.is_spent,
    )


def _all_places(roots: Iterable[_Spot]) -> Iterator[_Spot]:
    waiting = list(roots)
    for place in waiting:
        yield place
        waiting.extend(place.children.values())


def _chosen_holders(
    containers: list[_Spot], roots: list[_Spot], before: Mapping[Path, float], least: float
) -> list[_Spot]:
    """Return the containers to name: those that grew by the most bytes, then the largest.

    None of them lies within another one.
    """
    ranked = sorted(containers, key=lambda place: -_growth(place, before))
    grown = [_outermost(place, before) for place in ranked if _growth(place, before) > least]
    largest = sorted(containers, key=lambda place: -place.deep)
    candidates = [*grown, *(_around(place) for place in largest if place.deep > least)]
    chosen: list[_Spot] = []
    for place in candidates:
        lines = {id(other) for other in place.above()}
        apart = all(id(one) not in lines and place not in one.above() for one in chosen)
        if apart and len(chosen) < _MOST_NAMED:
            chosen.append(place)
    return chosen


def _growth(place: _Spot, before: Mapping[Path, float]) -> float:
    """Return the bytes by which a container grew since the earlier walk; 0 without one."""
    was = before.get(place.path)
    if was is None:  # it was too small to be remembered, or there was no walk
        return place.deep if before else 0.0
    if place.entries <= was * _GREW:
        return 0.0
    return place.deep * (1 - was / place.entries)


def _outermost(place: _Spot, before: Mapping[Path, float]) -> _Spot:
    """Return the outermost container whose growth is this growth: entries may hold containers."""
    growth = _growth(place, before)
    around = (above for above in place.above() if ELEMENT in above.children)
    return next(above for above in around if _growth(above, before) >= growth / 2)


def _around(place: _Spot) -> _Spot:
    """Return the outermost container of many entries on the way to this one, or this one."""
    around = (above for above in place.above() if ELEMENT in above.children)
    many = (above for above in around if above.entries >= _MANY * max(above.count, 1.0))
    return next(many, place)


def _holder(place: _Spot, walk: _Walk, before: Mapping[Path, float]) -> Holder:
    chain = _Chain(list(place.above()), walk)
    last = len(chain.places) - 1
    was, entry = before.get(place.path), place.children[ELEMENT]
    return Holder(
        path=stable_name(chain, last) + ELEMENT,
        element=qualified_name(type(entry.sample)),
        entries=round(place.entries),
        before=None if was is None else round(was),
        retained_bytes=round(place.deep),
        trace=trace_to(chain, last),
    )


class _Chain:
    """The places from a root to a container, as the graph that names are made from."""

    def __init__(self, places: list[_Spot], walk: _Walk) -> None:
        self.places, self._walk = places, walk

    def chain_to(self, node: int) -> Sequence[int]:
        return range(node + 1)

    def object_at(self, node: int) -> Any:
        return self.places[node].sample

    def kind_of(self, node: int) -> int:
        return self._walk._layout(type(self.places[node].sample)).kind

    def path_of(self, node: int) -> int:
        return node

    def root_name(self, node: int) -> str:
        return self.places[0].root or ""

    def is_namespace_root(self, node: int) -> bool:
        return node == 0 and self.places[0].entries < 0

    def is_alone(self, node: int) -> bool:
        return self.places[node].count <= 1


_PASSED_OVER = frozenset(map(id, (ModuleType, FrameType, CodeType, BuiltinFunctionType)))


def _is_passed_over(item: Any) -> bool:
    """Return whether an object is a root of its own, holds nothing of the program, or is ours."""
    cls = type(item)
    if cls is Memory:
        return False
    if id(cls) in _PASSED_OVER or item is None or is_ours(cls):
        return True
    return derives(cls, type) and (from_standard_library(item) or from_library(item))
