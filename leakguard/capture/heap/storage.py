"""Unique memory of arrays and tensors: a byte counts once, however many of them share it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from leakguard.capture.heap.classes import derives, qualified_name
from leakguard.capture.heap.frameworks import Buffer, Frameworks, Numpy
from leakguard.capture.heap.tally import NOTHING_OWNED, Owned
from leakguard.model.census import Storage

_OBJECT_BEHIND = memoryview.__dict__["obj"].__get__
# Types whose own size includes their memory, so an array that uses the memory adds nothing.
_SIZED_OWNERS = frozenset({"bytes", "bytearray", "array.array", "memoryview"})


class Piece(NamedTuple):
    """Memory that is not counted elsewhere, and an array or tensor that uses it."""

    owner: Any
    buffer: Buffer


class UniqueMemory:
    """Unique memory of one walk; it holds user objects and must not outlive the public call."""

    def __init__(
        self,
        arrays: Iterable[Any],
        tensors: Iterable[Any],
        frameworks: Frameworks,
        of_arrays: Owned,
        of_tensors: Owned,
    ):
        self._frameworks = frameworks
        self.owned = (*of_arrays.classes, *of_tensors.classes)
        self.arrays = _Group(of_arrays)
        self.mapped = _Group()
        self.tensors: dict[str, _Group] = {"cpu": _Group(of_tensors)} if of_tensors.classes else {}
        if frameworks.numpy is not None:
            self._add_arrays(arrays, frameworks.numpy)
        if frameworks.torch is not None:
            with frameworks.quiet():
                self._add_tensors(tensors)

    def groups(self) -> list[_Group]:
        """Return the groups of pieces: arrays, mapped files, and tensors by device."""
        return [self.arrays, self.mapped, *self.tensors.values()]

    def in_memory(self) -> Iterator[Piece]:
        """Yield the pieces that are not backed by a file."""
        for group in (self.arrays, *self.tensors.values()):
            yield from group.pieces.values()

    def _add_arrays(self, arrays: Iterable[Any], numpy: Numpy) -> None:
        foreign: list[Piece] = []
        for array in arrays:
            owner = numpy.base(array)
            if owner is None:
                self.arrays.objects += 1
                self.arrays.add(array, numpy.own_buffer(array))
                continue
            root, owner = array_owner(array, owner, numpy)
            group = self.mapped if is_mapped(owner) else self.arrays
            group.objects += 1
            if group is self.mapped:
                group.add(root, numpy.buffer(root))
            elif owner is not None and not is_accounted(owner, self._frameworks):
                foreign.append(Piece(root, numpy.buffer(root)))
        for piece in foreign:
            self.arrays.add_unless_inside(piece, self.arrays)

    def _add_tensors(self, tensors: Iterable[Any]) -> None:
        torch = self._frameworks.torch
        assert torch is not None
        for tensor in tensors:
            buffers = torch.buffers(tensor)
            device = buffers[0].device if buffers else "none"
            self._device(device).objects += 1
            for buffer in (*buffers, *torch.gradient_buffers(tensor)):
                self._device(buffer.device).add_unless_inside(Piece(tensor, buffer), self.arrays)

    def _device(self, name: str) -> _Group:
        group = self.tensors.get(name)
        if group is None:
            group = self.tensors[name] = _Group()
        return group


class _Group:
    """Pieces of one kind by start address."""

    def __init__(self, owned: Owned = NOTHING_OWNED) -> None:
        self.objects = sum(entry.live for entry in owned.classes)
        self.pieces: dict[int, Piece] = {}
        self._owned = owned
        self._starts: list[int] | None = None

    def add(self, owner: Any, buffer: Buffer) -> None:
        known = self.pieces.get(buffer.start)
        if known is None or known.buffer.bytes < buffer.bytes:
            self.pieces[buffer.start] = Piece(owner, buffer)

    def add_unless_inside(self, piece: Piece, group: _Group) -> None:
        """Add a piece, unless this group or ``group`` already has memory that contains it."""
        known = self.pieces.get(piece.buffer.start)
        if known is not None and known.buffer.bytes >= piece.buffer.bytes:
            return
        if piece.buffer.device == "cpu" and self._owns(piece.buffer):
            return
        if piece.buffer.device != "cpu" or not group.covers(piece.buffer):
            self.add(*piece)

    def covers(self, buffer: Buffer) -> bool:
        """Return whether a buffer lies within one piece that is already known."""
        if self._starts is None:
            self._starts = sorted(self.pieces)
        position = bisect_right(self._starts, buffer.start) - 1
        if position >= 0:
            found = self.pieces[self._starts[position]].buffer
            if buffer.start + buffer.bytes <= found.start + found.bytes:
                return True
        return self._owns(buffer)

    def _owns(self, buffer: Buffer) -> bool:
        """Return whether a buffer lies in memory that the scan only summed up."""
        starts, sizes = self._owned.extents[::2], self._owned.extents[1::2]
        position = bisect_right(starts, buffer.start) - 1
        end = starts[position] + sizes[position] if position >= 0 else 0
        return buffer.start + buffer.bytes <= end

    def total(self) -> Storage:
        """Return the sums of the group; a piece of 0 bytes does not count as a storage."""
        sizes = [piece.buffer.bytes for piece in self.pieces.values() if piece.buffer.bytes]
        owned = sum(entry.bytes for entry in self._owned.classes)
        return Storage(self.objects, self._owned.storages + len(sizes), owned + sum(sizes))


def array_owner(array: Any, base: Any, numpy: Numpy) -> tuple[Any, Any]:
    """Follow bases; return the outermost array and the owner of its memory.

    The owner is None if the outermost array itself owns the memory.
    """
    while base is not None and derives(type(base), numpy.kind):
        array, base = base, numpy.base(base)
    while type(base) is memoryview:
        base = _OBJECT_BEHIND(base)
    return array, base


def is_mapped(owner: Any) -> bool:
    """Return whether the owner of an array's memory is a mapped file."""
    return qualified_name(type(owner)) == "mmap.mmap"


def is_accounted(owner: Any, frameworks: Frameworks) -> bool:
    """Return whether an array's memory is counted with its owner, or is a mapped file."""
    torch = frameworks.torch
    if torch is not None and derives(type(owner), torch.kind):
        return True
    return qualified_name(type(owner)) in _SIZED_OWNERS or is_mapped(owner)
