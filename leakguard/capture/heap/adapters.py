"""References and memory that the collector's traversal misses.

They belong to code objects, arrays, tensors, backward graphs and buffers of text.
"""

from __future__ import annotations

import gc
import sys
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from types import CodeType, GetSetDescriptorType
from typing import Any

from leakguard.capture.heap.backward import (
    MOST_NODES,
    NODE_BYTES,
    is_backward_node,
    saved_slots,
)
from leakguard.capture.heap.classes import (
    HEAP_TYPE,
    derives,
    flags,
    namespace,
    qualified_name,
)
from leakguard.capture.heap.frameworks import Buffer, Frameworks, Numpy, OwnMemory, Torch
from leakguard.capture.heap.layout import AUTOGRAD, ClassLayout, Memory, Reader, layout_of
from leakguard.capture.heap.storage import array_owner, is_accounted
from leakguard.capture.heap.text_buffers import is_text_buffer, read_text_buffer

_CODE_PARTS: tuple[str, ...] = (
    "co_consts",
    "co_names",
    "co_filename",
    "co_name",
    "co_qualname",
    "co_linetable",
    "co_exceptiontable",
)
if sys.version_info < (3, 11):  # from 3.11 on, each read makes a new object
    _CODE_PARTS += ("co_code", "co_varnames", "co_freevars", "co_cellvars")
_READ_CODE = tuple(
    CodeType.__dict__[part].__get__ for part in _CODE_PARTS if part in CodeType.__dict__
)
# Bytes that torch 2.13 allocates in C++ in addition to a tensor's data. TENSOR_BYTES: for the
# tensor. STORAGE_BYTES: for its storage, including the alignment of the data. PLACE_BYTES: for the
# record that connects a tensor with its node in a backward graph. Measured with mallinfo2.
TENSOR_BYTES, STORAGE_BYTES, PLACE_BYTES = 224, 144, 200
# Bytes that numpy allocates for the shape and the strides of an array with one dimension.
DIMENSION_BYTES = 16
#: C++ objects that export their pixels as a buffer. Their reported size excludes the pixels and
#: ``RENDERER_BYTES`` bytes of other memory. Measured with mallinfo2 (matplotlib 3.11) for a
#: renderer that has not drawn yet.
PICTURES = frozenset({"matplotlib.backends._backend_agg.RendererAgg"})
RENDERER_BYTES = 42_000
_NO_ELEMENTS: tuple[object, ...] = ()
_PAGE = 4096


def read_code(code: CodeType) -> tuple[list[object], Iterable[object]]:
    """Return what a code object holds; the collector does not track code objects."""
    return [read(code) for read in _READ_CODE], _NO_ELEMENTS


def read_class(cls: type) -> tuple[list[object], Iterable[object]]:
    """Return the contents of a static C class's namespace; the collector does not follow these."""
    if flags(cls) & HEAP_TYPE:
        return [], _NO_ELEMENTS
    return gc.get_referents(namespace(cls)), _NO_ELEMENTS


def _array_layout(cls: type, read: Reader) -> ClassLayout:
    layout = layout_of(cls, read)
    return layout._replace(fixed=layout.fixed + DIMENSION_BYTES)


def read_picture(picture: Any) -> tuple[list[object], Iterable[object]]:
    """Return the pixels of a renderer; no other object shares them."""
    try:
        with memoryview(picture) as pixels:
            return [Memory(pixels.nbytes + RENDERER_BYTES)], _NO_ELEMENTS
    except Exception:  # the buffer does not exist yet
        return [], _NO_ELEMENTS


def array_reader(numpy: Numpy) -> Reader:
    """Return a reader of an array's base and, for object arrays, of its elements."""

    def read(array: Any) -> tuple[list[object], Iterable[object]]:
        base = numpy.base(array)
        elements = numpy.flat(array) if numpy.holds_objects(array) else _NO_ELEMENTS
        return ([] if base is None else [base]), elements

    return read


def census_layouts(frameworks: Frameworks) -> Callable[[type], ClassLayout]:
    """Return a function that describes classes for a census: arrays refer to bases and elements."""
    numpy = frameworks.numpy

    def describe(cls: type) -> ClassLayout:
        if cls is CodeType:
            return layout_of(cls, read_code)
        if numpy and derives(cls, numpy.kind):
            return _array_layout(cls, array_reader(numpy))
        return layout_of(cls)

    return describe


class GraphAdapters:
    """Describes classes for the object graph, in which memory and backward graphs are nodes too.

    An instance keeps the memory nodes of one graph, and must not outlive the public call.
    """

    def __init__(
        self,
        frameworks: Frameworks,
        own_memory: OwnMemory | None = None,
        *,
        weighs_devices: bool = False,
    ) -> None:
        """Describe classes of these frameworks.

        ``own_memory`` is the compiled scan's function that reads arrays owning plain memory. With
        ``weighs_devices``, memory nodes have the bytes on devices instead of those of the host.
        """
        self._frameworks = frameworks
        self._own_memory = own_memory
        self._memory = _MemoryMap(weighs_devices)
        self._followed = 0  # nodes of backward graphs

    def describe(self, cls: type) -> ClassLayout:
        """Return how to size the instances of a class, and how to read what they refer to."""
        numpy, torch = self._frameworks.numpy, self._frameworks.torch
        if cls is CodeType:
            return layout_of(cls, read_code)
        if numpy and derives(cls, numpy.kind):
            return _array_layout(cls, self._array_reader(numpy))
        if is_text_buffer(cls):
            return layout_of(cls, read_text_buffer)
        if qualified_name(cls) in PICTURES:
            return layout_of(cls, read_picture)
        if derives(cls, type):
            return layout_of(cls, read_class)
        if torch and derives(cls, torch.kind):
            layout = layout_of(cls, self._tensor_reader(torch))
            return layout._replace(fixed=layout.fixed + TENSOR_BYTES)
        if torch and is_backward_node(cls):
            layout = layout_of(cls, self._node_reader(torch, cls))
            return layout._replace(kind=AUTOGRAD, fixed=NODE_BYTES, method=None, hidden=False)
        return layout_of(cls)

    def memory_at(self, address: int) -> Memory | None:
        """Return the memory of an array or tensor that begins at ``address``, or None."""
        return self._memory.at(address)

    def on_devices(self) -> list[tuple[Memory, int]]:
        """Return the node and the bytes of each buffer that is not in host memory."""
        return self._memory.on_devices()

    def _array_reader(self, numpy: Numpy) -> Reader:
        references, getters = array_reader(numpy), numpy.getters
        own_memory = partial(self._own_memory, *getters) if self._own_memory and getters else None

        def read(array: Any) -> tuple[list[object], Iterable[object]]:
            own = own_memory(array) if own_memory else None
            if own is not None:
                return [self._memory.own(*own)], _NO_ELEMENTS
            parts, elements = references(array)
            root, owner = array_owner(array, parts[0] if parts else None, numpy)
            if root is array and not is_accounted(owner, self._frameworks):
                parts.append(self._memory.node(numpy.buffer(array)))
            return parts, elements

        return read

    def _tensor_reader(self, torch: Torch) -> Reader:
        own_memory = torch.in_place.memory if torch.in_place else None

        def read(tensor: Any) -> tuple[list[object], Iterable[object]]:
            own = own_memory(tensor) if own_memory else None
            if own is not None:
                return [self._memory.own(*own, STORAGE_BYTES)], _NO_ELEMENTS
            memory = (self._memory.node(buffer, STORAGE_BYTES) for buffer in torch.buffers(tensor))
            gradient, base, node = torch.relatives(tensor)
            place = None if node is None else Memory(PLACE_BYTES)
            parts = [*memory, gradient, base, place, node]
            return [part for part in parts if part is not None], _NO_ELEMENTS

        return read

    def _node_reader(self, torch: Torch, cls: type) -> Reader:
        slots = saved_slots(cls)
        leaf = namespace(cls).get("variable")
        variable = leaf.__get__ if type(leaf) is GetSetDescriptorType else None

        def read(node: Any) -> tuple[list[object], Iterable[object]]:
            self._followed += 1
            if self._followed > MOST_NODES:
                return [], _NO_ELEMENTS
            parts: list[object] = list(torch.next_nodes(node))
            parts += (kept for kept in torch.saved(node, slots) if kept is not None)
            if variable is not None:
                parts.append(variable(node))
            return parts, _NO_ELEMENTS

        return read


class _MemoryMap:
    """Memory nodes by start address, so that arrays that share memory refer to the same node.

    To find the buffer that contains a given one, large buffers are searched by bisection. Buffers
    smaller than a page may number millions, so they are listed by page; the list is searched only
    if a buffer of that page ends late enough.
    """

    def __init__(self, weighs_devices: bool) -> None:
        self._weighs_devices = weighs_devices
        self._nodes: dict[tuple[str, int], tuple[int, Memory]] = {}
        self._large: list[int] = []
        self._small: defaultdict[int, list[int]] = defaultdict(list)
        self._ends: dict[int, int] = {}
        self._devices: dict[int, Memory] | None = None  # known once the walk is over

    def at(self, start: int) -> Memory | None:
        """Return the node of the memory that begins at ``start``; None if there is none.

        The host and all devices share one range of addresses.
        """
        known = self._nodes.get(("cpu", start))
        return self._by_address().get(start) if known is None else known[1]

    def _by_address(self) -> dict[int, Memory]:
        """Return the nodes on devices by the addresses where they begin."""
        if self._devices is None:
            nodes = self._nodes.items()
            self._devices = {start: node for (on, start), (_, node) in nodes if on != "cpu"}
        return self._devices

    def on_devices(self) -> list[tuple[Memory, int]]:
        """Return the node and the bytes of each buffer that is not in host memory."""
        return [
            (node, end - start)
            for (device, start), (end, node) in self._nodes.items()
            if device != "cpu"
        ]

    def own(self, start: int, size: int, extra: int = 0) -> Memory:
        """Return the node of host memory that is known to lie inside no other buffer."""
        known = self._nodes.get(("cpu", start))
        if known is not None and known[0] >= start + size:
            return known[1]
        weight = 0 if self._weighs_devices else extra + size
        return self._made("cpu", start, size, Memory(weight))

    def node(self, buffer: Buffer, extra: int = 0) -> Memory:
        """Return the node of a buffer, or of the known memory that contains the buffer.

        ``extra`` is the number of host bytes that the framework needs to manage the memory.
        """
        known = self._nodes.get((buffer.device, buffer.start))
        if known is not None and known[0] >= buffer.start + buffer.bytes:
            return known[1]
        around = self._around(buffer) if buffer.device == "cpu" else None
        if around is not None:
            return around
        if self._weighs_devices:
            return self._made(*buffer, Memory(0 if buffer.device == "cpu" else buffer.bytes))
        return self._made(*buffer, Memory(extra + (buffer.bytes if buffer.device == "cpu" else 0)))

    def _made(self, device: str, start: int, size: int, node: Memory) -> Memory:
        if device == "cpu" and (device, start) not in self._nodes:
            if size < _PAGE:
                page = start // _PAGE
                self._small[page].append(start)
                self._ends[page] = max(self._ends.get(page, 0), start + size)
            else:
                insort(self._large, start)
        self._nodes[device, start] = (start + size, node)
        return node

    def _around(self, buffer: Buffer) -> Memory | None:
        page, position = buffer.start // _PAGE, bisect_right(self._large, buffer.start)
        starts = self._large[max(position - 1, 0) : position]
        for near in (page, page - 1):
            if self._ends.get(near, 0) > buffer.start:
                starts += self._small[near]
        for start in starts:
            end, node = self._nodes["cpu", start]
            if start <= buffer.start and buffer.start + buffer.bytes <= end:
                return node
        return None
