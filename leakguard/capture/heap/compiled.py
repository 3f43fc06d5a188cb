"""Wraps the compiled scan in the same interface as the pure-Python walk and graph."""

from __future__ import annotations

import gc
import mmap
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from leakguard.capture.heap import _scan
from leakguard.capture.heap.adapters import census_layouts
from leakguard.capture.heap.classes import derives
from leakguard.capture.heap.frames import local_variables, running_frames
from leakguard.capture.heap.frameworks import Frameworks
from leakguard.capture.heap.layout import ClassLayout
from leakguard.capture.heap.path_tree import PathColumns
from leakguard.capture.heap.process_copy import is_copy, keeps_memory
from leakguard.capture.heap.retention import Group, Retained
from leakguard.capture.heap.tally import ClassCount, Owned, Tally
from leakguard.compiled_part import check_interface

check_interface(_scan, 0x341F6422)
if len(ClassLayout._fields) != _scan.LAYOUT_FIELDS:
    raise ImportError("the compiled scan knows other layouts of classes: build it anew")

address_of = _scan.address_of
population, gains, spare = _scan.population, _scan.gains, _scan.spare

_ClassFound = tuple[type, int, int, int, int]
_Counted = tuple[list[_ClassFound], list[Any], list[Any], list[tuple[type, int]]]
_NUMBER = 8
_NO_NUMBERS: Sequence[int] = ()


def tally(frameworks: Frameworks, large: int) -> Tally:
    """Count every live object once, by exact class; see ``walk.tally``."""
    describe = census_layouts(frameworks)
    with _scanned(lambda cls: (*describe(cls), _handed(cls, frameworks))) as scan:
        if frameworks.numpy and frameworks.numpy.getters:
            scan.arrays(*frameworks.numpy.getters)
        if frameworks.torch and frameworks.torch.in_place:
            scan.tensors(frameworks.torch.in_place.layout)
        classes, arrays, tensors, big = _census(scan, large)
        return Tally(
            [ClassCount(*entry[:3]) for entry in classes],
            arrays,
            tensors,
            [entry for entry in big if not _handed(entry[0], frameworks)],
            Owned(
                _owners(classes, 1, frameworks),
                scan.extent_count(),
                _extents(scan.extent_count(), scan.extents) if arrays or tensors else (),
            ),
            Owned(
                _owners(classes, 2, frameworks),
                scan.storage_count(),
                _extents(scan.storage_count(), scan.storages) if tensors else (),
            ),
        )


def _owners(
    classes: Sequence[_ClassFound], handed: int, frameworks: Frameworks
) -> list[ClassCount]:
    """Return the owners of memory that was summed, of classes that are handed over so."""
    return [
        ClassCount(cls, *owned)
        for cls, _, _, *owned in classes
        if any(owned) and _handed(cls, frameworks) == handed
    ]


def instances(frameworks: Frameworks, wanted: Callable[[type], bool]) -> list[Any]:
    """Return every live object of the wanted classes; see ``walk.instances``.

    The elements of arrays are not read, because reading an array allocates, and the program's
    allocations are being traced. As a result, only numbers and strings in object arrays are missed.
    """
    describe = census_layouts(replace(frameworks, numpy=None))
    with _scanned(lambda cls: (*describe(cls), int(wanted(cls)))) as scan:
        return _census(scan, sys.maxsize)[1]


@contextmanager
def _scanned(describe: Callable[[type], object]) -> Iterator[_scan.Scan]:
    scan = _scan.Scan(describe)
    try:
        yield scan
    finally:
        scan.close()


def _census(scan: _scan.Scan, large: int) -> _Counted:
    beside = _beside()  # before the list is made, see walk.live_objects
    if is_copy() and _scan.LISTS_TRACKED:
        return scan.census(None, beside, True, large)
    tracked = gc.get_objects()
    try:
        return scan.census(tracked, beside, not gc.get_freeze_count(), large)
    finally:
        tracked.clear()


def _extents(count: int, write: Callable[[memoryview[int]], None]) -> Sequence[int]:
    if not count:
        return ()
    numbers = _pages(2 * count)
    write(numbers)
    return numbers


def _pages(count: int) -> memoryview[int]:
    """Return room for ``count`` numbers in pages of its own.

    Memory from the program's allocator might be kept by that allocator after it is freed.
    """
    return memoryview(mmap.mmap(-1, count * _NUMBER)).cast("q")


class CompiledGraph(_scan.Scan):
    """The object graph; see ``graph.Graph`` for what each method does."""

    __slots__ = ("_objects_at",)
    own_memory = staticmethod(_scan.own_memory)
    tracked_of = staticmethod(_scan.tracked_of)

    @staticmethod
    def tracked_addresses() -> bytes | None:
        """Return the addresses of all tracked objects, for a walk that need not hold what it sees.

        That is one in a copy, where nobody else runs and no address is used again; else None.
        """
        may_borrow = keeps_memory() and _scan.LISTS_TRACKED
        return _scan.tracked_addresses() if may_borrow else None

    def __init__(
        self, describe: Callable[[type], ClassLayout], is_deferred: Callable[[type], bool]
    ) -> None:
        super().__init__(lambda cls: (*describe(cls), 0), is_deferred)
        self._objects_at: Sequence[int] | None = None

    def is_alone(self, node: int) -> bool:
        """Return whether no other object lies at the path of a node; asked after the walk."""
        if self._objects_at is None:
            self._objects_at = self.path_columns().objects
        return self._objects_at[self.path_of(node)] == 1

    def path_columns(self) -> PathColumns:
        """Return the tree of paths as columns."""
        count = self.path_count()
        if not count:
            return PathColumns(*(_NO_NUMBERS for _ in PathColumns._fields))
        numbers = _pages(count * len(PathColumns._fields))
        self.columns(numbers)
        starts = range(0, len(numbers), count)
        return PathColumns(*(numbers[start : start + count] for start in starts))

    def paths_by_class(self, least: int) -> list[tuple[type, Sequence[int]]]:  # type: ignore[override]
        """Return the paths with so many objects by the class of their first, as packed numbers."""
        found = super().paths_by_class(least)
        return [(cls, memoryview(paths).cast("i")) for cls, paths in found]

    def members(self, paths: Sequence[int]) -> Sequence[Sequence[int]]:  # type: ignore[override]
        """Return, for each path, the nodes that lie at it, as packed numbers to save memory."""
        return [memoryview(nodes).cast("i") for nodes in super().members(paths)]

    def children(self, node: int) -> Sequence[int]:  # type: ignore[override]
        """Return the nodes that a node refers to, as packed numbers to save memory."""
        return memoryview(super().children(node)).cast("i")

    def garbage(self, first: int) -> Sequence[int]:  # type: ignore[override]
        """Return the nodes that nothing keeps alive but a cycle, as packed numbers."""
        return memoryview(super().garbage(first)).cast("i")

    def owners(self, blocks: Sequence[int]) -> Sequence[int]:  # type: ignore[override]
        """Return the node that each block of memory belongs to, or ``NO_NODE``."""
        return memoryview(super().owners(array("Q", blocks))).cast("i")

    def retained(self, groups: Sequence[Group]) -> list[Retained]:  # type: ignore[override]
        """Return what each (nodes, whole) group of nodes retains."""
        return [Retained(*entry) for entry in super().retained(groups)] if groups else []


def _handed(cls: type, frameworks: Frameworks) -> int:
    """Return which instances of a class the scan hands over: 1 arrays, 2 tensors, 0 none."""
    if frameworks.numpy and derives(cls, frameworks.numpy.kind):
        return 1
    return 2 if frameworks.torch and derives(cls, frameworks.torch.kind) else 0


def _beside() -> list[object]:
    found: list[object] = list(sys.modules.values())
    for _, frame in running_frames():
        found += local_variables(frame).values()
    return found
