"""The object graph in pure Python: one forward walk from the roots, breadth first.

Nodes are numbered in the order of discovery. Every object also lies at a *path*: the names of the
edges from its root, where all elements of a container share one edge name. Paths form a tree that
is much smaller than the graph, and two looks can be compared by it.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from ctypes import c_void_p, sizeof
from typing import Any, ClassVar, Protocol

from leakguard.capture.heap.classes import basic_size
from leakguard.capture.heap.frameworks import OwnMemory
from leakguard.capture.heap.garbage import garbage_of
from leakguard.capture.heap.half_built import (
    elements_of,
    has_c_fields,
    is_blank,
    or_empty,
    referents,
)
from leakguard.capture.heap.layout import (
    AUTOGRAD,
    DICT,
    ELEMENTS,
    LIST,
    MEMORY,
    NAMED,
    PLAIN,
    TUPLE,
    ClassLayout,
    may_traverse,
)
from leakguard.capture.heap.path_tree import (
    BETWEEN_LINKS,
    ELEMENT,
    INSTANCE,
    KEY,
    NAME,
    NAMESPACE,
    NO_NODE,
    POSITION,
    PathColumns,
    PathTree,
    is_link,
)
from leakguard.capture.heap.retention import Retained, Retention
from leakguard.capture.heap.sizes import holds_dict

Describe = Callable[[type], ClassLayout]

# Dicts of at most this many string keys are records: their values are named one by one.
MAX_RECORD = 64
# The references of an object are numbered. Numbers below this are for the references that the
# collector's traversal visits, numbers from this on for the references that adapters read. Only
# objects that are no containers are numbered so. Chosen: none of them has so many attributes.
FIRST_PART = 1000
_EXACT = frozenset(map(id, (dict, list, tuple)))
# Kinds of containers that keep their address when they grow. A numpy array or a tensor does not:
# the program makes a new, longer one and copies the elements.
_STAY = frozenset({LIST, DICT, ELEMENTS})
# Offsets of an object in its block: none, after the collector's header, or after the headers of the
# collector and of the instance's dict.
_POINTER = sizeof(c_void_p)
_HEADERS = (0, 2 * _POINTER, 4 * _POINTER)
_SINGLETONS = frozenset(map(id, (None, True, False, ..., NotImplemented)))


class Graph:
    """Every object with its size, its references and the way by which it was first reached.

    The graph holds all objects that it found, so it must be closed before the public call returns.
    """

    own_memory: ClassVar[OwnMemory | None] = None

    def __init__(self, describe: Describe, is_deferred: Callable[[type], bool]) -> None:
        self._describe = describe
        self._is_deferred: Callable[[type], bool] | None = is_deferred
        self._layouts: dict[int, tuple[ClassLayout, bool, bool]] = {}
        self._objects: list[Any] = []
        self._index: dict[int, int] = {}
        self._parents, self._path_of = array("i"), array("i")
        self._sizes = array("q")
        self._edges = array("i")
        self._starts, self._ends = array("q"), array("q")
        self._kinds = bytearray()
        self._deferred: list[int] = []
        self._put_off: set[int] = set()
        self._objects_at: Sequence[int] | None = None
        self._roots: dict[int, tuple[str, bool]] = {}
        self._next = 0
        self._paths = PathTree()

    def __len__(self) -> int:
        return len(self._objects)

    def walk(self, roots: Iterable[tuple[object, str, bool]]) -> None:
        """Add roots, as (object, name, is a namespace), and everything reachable from them."""
        self._add_roots(roots)
        self._expand_all()

    def put_off(self, roots: Iterable[tuple[object, str, bool]]) -> None:
        """Add roots that are not followed before ``walk_put_off``, whatever leads to them."""
        first = len(self)
        self._add_roots(roots)
        self._put_off.update(range(first, len(self)))

    def walk_put_off(self) -> None:
        """Follow the roots that were put off."""
        passed = [node for node in sorted(self._put_off) if node < self._next]
        self._put_off.clear()
        for node in passed:
            self._expand(node)
        self._expand_all()

    @staticmethod
    def tracked_addresses() -> None:
        """Return None: a walk in Python holds what it sees."""

    @staticmethod
    def tracked_of(tracked: bytes, cls: type) -> list[Any]:
        """Return objects by their addresses, which are never known here."""
        raise NotImplementedError

    def borrow(self, tracked: bytes) -> None:
        """Hold nothing from now on; see ``tracked_of``."""
        raise NotImplementedError

    def walk_rest(self, items: Iterable[object] | None, name: str, skipped: object) -> None:
        """Add the objects that have no root, except ``skipped``, as roots of one name.

        ``items`` is None if the walk borrows; then what was tracked before it is meant.
        """
        for item in items or ():
            if id(item) not in self._index and item is not skipped:
                self._add_root(item, name, False)
                self._expand_all()

    def walk_deferred(self) -> None:
        """Follow the references of the guard's own objects, which ``walk`` put off."""
        self._is_deferred = None
        for node in self._deferred:
            self._expand(node)
        self._deferred.clear()
        self._expand_all()

    def find(self, item: object) -> int:
        """Return the node of an object, or ``NO_NODE``."""
        return self._index.get(id(item), NO_NODE)

    def find_at(self, address: int) -> int:
        """Return the node of the object that lies at an address, or ``NO_NODE``."""
        return self._index.get(address, NO_NODE)

    def owners(self, blocks: Sequence[int]) -> Sequence[int]:
        """Return the node that each block of memory belongs to, or ``NO_NODE``.

        This implementation finds only the blocks of objects. The compiled scan also finds the
        tables of lists, dicts and sets.
        """
        return [next(filter(_is_node, self._in_block(block)), NO_NODE) for block in blocks]

    def ways(self, nodes: Sequence[int], wanted: bytes) -> list[list[tuple[int, int]]]:
        """Return, for each node, the ``wanted`` paths on the way to it, outermost first.

        ``wanted`` has a byte for each path. Each path is returned as (path, node). That node is the
        next one on the way after the innermost object at the path, or the node in question itself.
        """
        return [list(self._way(node, wanted))[::-1] for node in nodes]

    def _way(self, node: int, wanted: bytes) -> Iterable[tuple[int, int]]:
        below = node
        while node != NO_NODE:
            path = self._path_of[node]
            if wanted[path]:
                yield path, below
            below = self._top(node) if wanted[path] else node
            node = self._parents[below]

    def _top(self, node: int) -> int:
        """Return the topmost link of the chain that a node is in, or the node."""
        top, above = node, self._parents[node]
        between = 0
        while above != NO_NODE and between <= BETWEEN_LINKS + 1:
            between += 1
            if self._path_of[above] == self._path_of[node]:
                top, between = above, 0
            above = self._parents[above]
        return top

    def _in_block(self, block: int) -> Iterable[int]:
        return (self.find_at(block + header) for header in _HEADERS)

    def object_at(self, node: int) -> Any:
        """Return the object of a node."""
        return self._objects[node]

    def class_of(self, node: int) -> type:
        """Return the class of a node's object, whose reference count is not written for that."""
        return type(self._objects[node])

    def chain_to(self, node: int, most: int = sys.maxsize) -> list[int]:
        """Return the nodes on the shortest way from a root to ``node``, or the last ``most``."""
        found: list[int] = []
        while node != NO_NODE and len(found) < most:
            found.append(node)
            node = self._parents[node]
        return found[::-1]

    def root_name(self, node: int) -> str:
        """Return the name that a root was given."""
        return self._roots[node][0]

    def is_namespace_root(self, node: int) -> bool:
        """Return whether a root is a namespace, whose keys are attributes."""
        return self._roots[node][1]

    def path_of(self, node: int) -> int:
        """Return the path at which a node lies."""
        return self._path_of[node]

    def members(self, paths: Sequence[int]) -> Sequence[Sequence[int]]:
        """Return, for each path, the nodes that lie at it."""
        found: dict[int, list[int]] = {path: [] for path in paths}
        for node, path in enumerate(self._path_of):
            if path in found:
                found[path].append(node)
        return [found[path] for path in paths]

    def heavy(self, threshold: int) -> list[int]:
        """Return the nodes through which at least ``threshold`` bytes were first reached.

        The node's own bytes are included.
        """
        below = array("q", self._sizes)
        for node in range(len(below) - 1, -1, -1):
            if self._parents[node] != NO_NODE:
                below[self._parents[node]] += below[node]
        return [node for node, size in enumerate(below) if size >= threshold]

    def entries(self, nodes: Sequence[int]) -> tuple[list[tuple[type, int]], int]:
        """Return the contents of containers: (class, count), most frequent first, and the bytes.

        The bytes are those of the entries themselves and of their array and tensor memory. An entry
        that several containers share counts once.
        """
        counts: Counter[int] = Counter()
        classes: dict[int, type] = {}
        for node in nodes:
            for element in self._elements(node):
                if id(element) not in _SINGLETONS:
                    counts[id(type(element))] += 1
                    classes[id(type(element))] = type(element)
        held = {child for node in nodes for child in self.children(node)}
        held |= {
            part for child in held for part in self.children(child) if self._kinds[part] == MEMORY
        }
        ranked = [(classes[key], count) for key, count in counts.most_common()]
        return ranked, sum(map(self.size_of, held))

    def _elements(self, node: int) -> Iterable[Any]:
        if self._kinds[node] == DICT:
            return list(dict.values(or_empty(self._objects[node])))
        return map(self.object_at, self.children(node))

    def children(self, node: int) -> Sequence[int]:
        """Return the nodes that a node refers to."""
        return self._edges[self._starts[node] : self._ends[node]]

    def size_of(self, node: int) -> int:
        """Return the bytes of a node itself."""
        return self._sizes[node]

    def kind_of(self, node: int) -> int:
        """Return what a node is, one of the kinds of ``layout``."""
        return self._kinds[node]

    def roots(self) -> list[int]:
        """Return the nodes that were added as roots."""
        return list(self._roots)

    def total_bytes(self) -> int:
        """Return the bytes of all nodes."""
        return sum(self._sizes)

    def is_alone(self, node: int) -> bool:
        """Return whether no other object lies at the path of a node; asked after the walk."""
        if self._objects_at is None:
            self._objects_at = self.path_columns().objects
        return self._objects_at[self.path_of(node)] == 1

    def path_columns(self) -> PathColumns:
        """Return the tree of paths as columns."""
        return self._paths.columns(self._path_of, self._sizes)

    def containers(self) -> list[int]:
        """Return the paths whose objects hold elements, and may therefore grow.

        Tuples and namespaces count as records, which do not grow, unless they have more than
        ``MAX_RECORD`` entries on average.
        """
        paths = self.path_columns()
        return [
            path
            for path, entries in enumerate(paths.entries)
            if entries > (MAX_RECORD * paths.objects[path] if self._is_record(path) else 0)
        ]

    def large_paths(self, size: int) -> list[int]:
        """Return the paths whose objects have at least ``size`` bytes of their own on average."""
        paths = self.path_columns()
        sizes = zip(paths.bytes, paths.objects, strict=True)
        return [at for at, (total, objects) in enumerate(sizes) if 0 < size * objects <= total]

    def paths_by_class(self, least: int) -> list[tuple[type, Sequence[int]]]:
        """Return the paths with at least so many objects, by the class of the first one there."""
        found: dict[int, tuple[type, list[int]]] = {}
        for path, count in enumerate(self.path_columns().objects):
            if count >= least:
                cls = self.class_of(self._paths.sample(path))
                found.setdefault(id(cls), (cls, []))[1].append(path)
        return list(found.values())

    def places(self, paths: Sequence[int]) -> list[int]:
        """Return the address of the only container at each path.

        It is 0 if the path has several objects, or an object that is no container.
        """
        objects = self.path_columns().objects
        samples = [self._paths.sample(path) if objects[path] == 1 else NO_NODE for path in paths]
        return [
            id(self._objects[node]) if node != NO_NODE and self._kinds[node] in _STAY else 0
            for node in samples
        ]

    def _is_record(self, path: int) -> bool:
        return self._paths.is_namespace(path) or self._kinds[self._paths.sample(path)] == TUPLE

    def retained(self, groups: Sequence[tuple[Sequence[int], bool]]) -> list[Retained]:
        """Return what each group of nodes retains.

        A group is (nodes, whole). If ``whole`` is true, the nodes themselves count as dropped;
        otherwise only what they refer to.
        """
        return Retention(self, groups).measure() if groups else []

    def garbage(self, first: int) -> Sequence[int]:
        """Return the nodes that nothing keeps alive but a cycle, of those from ``first`` on.

        ``first`` is the number of nodes that a root leads to.
        """
        return garbage_of(self, first)

    def close(self) -> None:
        """Release every object."""
        self._objects.clear()
        self._index.clear()
        self._layouts.clear()

    def _expand_all(self) -> None:
        while self._next < len(self._objects):
            self._next += 1
            self._expand(self._next - 1)

    def _layout(self, cls: type) -> tuple[ClassLayout, bool, bool]:
        known = self._layouts.get(id(cls))
        if known is None:
            deferred = self._is_deferred is not None and self._is_deferred(cls)
            layout = self._describe(cls)
            wary = layout.read is not None or has_c_fields(cls)
            known = self._layouts[id(cls)] = (layout, deferred, wary)
        return known

    def _add_roots(self, roots: Iterable[tuple[object, str, bool]]) -> None:
        for item, name, is_namespace in roots:
            if id(item) not in self._index:
                self._add_root(item, name, is_namespace)

    def _add_root(self, item: Any, name: str, is_namespace: bool) -> None:
        node = self._add(item, NO_NODE, self._paths.root(name, is_namespace))
        self._roots[node] = (name, is_namespace)

    def _add(self, item: Any, parent: int, path: int) -> int:
        node = len(self._objects)
        self._objects.append(item)
        self._index[id(item)] = node
        self._parents.append(parent)
        self._path_of.append(path)
        self._sizes.append(0)
        self._starts.append(0)
        self._ends.append(0)
        self._kinds.append(0)
        self._paths.note(path, node)
        return node

    def _expand(self, node: int) -> None:
        if node in self._put_off:
            return
        item = self._objects[node]
        layout, is_deferred, wary = self._layout(type(item))
        if self._is_deferred is not None and is_deferred:
            self._deferred.append(node)
            return
        self._kinds[node] = layout.kind
        self._starts[node] = self._ends[node] = len(self._edges)
        if wary and is_blank(item):
            self._sizes[node] = basic_size(type(item)) + layout.header
            return
        told = referents(item) if may_traverse(layout, item) else []
        self._sizes[node] = layout.size(item, len(told), len(told) == 2 and holds_dict(told))
        self._link_contents(node, item, layout, told)
        if layout.read is not None:
            parts, elements = layout.read(item)
            self._link_positions(node, parts, type(item), FIRST_PART)
            self._link_elements(node, elements)
        self._ends[node] = len(self._edges)

    def _link_contents(self, node: int, item: Any, layout: ClassLayout, told: list[Any]) -> None:
        cls, kind = type(item), layout.kind
        if kind == DICT:
            self._link_items(node, item)
        elif kind in (LIST, TUPLE):
            self._link_elements(node, elements_of(item, told))
        elif kind == ELEMENTS:
            self._link_elements(node, (part for part in told if part is not cls))
        if kind in (PLAIN, NAMED, AUTOGRAD):
            self._link_attributes(node, cls, layout, told)
        elif kind != ELEMENTS and id(cls) not in _EXACT:
            self._link_positions(node, told, cls, 0)

    def _link_attributes(self, node: int, cls: type, layout: ClassLayout, told: list[Any]) -> None:
        namespace = None
        if layout.kind == NAMED and (len(told) == 2 or not layout.managed):
            namespace = next((part for part in told if type(part) is dict), None)
        if len(told) > layout.room:
            rest = [part for part in told if part is not namespace and part is not cls]
            self._link_elements(node, rest)
            told = [] if namespace is None else [namespace]
        for position, part in enumerate(told):
            if part is namespace:
                self._link(node, part, (INSTANCE if layout.managed else NAMESPACE, 0))
                namespace = None
            else:
                self._link(node, part, (POSITION, (id(cls), position)))

    def _link_positions(self, node: int, parts: Iterable[Any], cls: type, first: int) -> None:
        for position, part in enumerate(parts, first):
            self._link(node, part, (POSITION, (id(cls), position)))

    def _link_elements(self, node: int, elements: Iterable[Any]) -> None:
        before = len(self._edges)
        for element in elements:
            self._link(node, element, (ELEMENT, 0))
        self._paths.entries[self._path_of[node]] += len(self._edges) - before

    def _link_items(self, node: int, item: Any) -> None:
        items = list(dict.items(item))
        path = self._path_of[node]
        named = self._paths.is_namespace(path) or (
            len(items) <= MAX_RECORD and all(type(key) is str for key, _ in items)
        )
        for key, value in items:
            self._link(node, key, (KEY, 0))
            self._link(node, value, (NAME, key) if named and type(key) is str else (ELEMENT, 0))
        self._paths.entries[path] += len(items)

    def _link(self, node: int, item: Any, label: tuple[int, Hashable]) -> None:
        key = id(item)
        if key in _SINGLETONS:
            return
        child = self._index.get(key)
        if child is None:
            above = self._path_of[node]
            if callable(item) and is_link(type(self._objects[node])):
                label = (label[0], (label[1], callable))
            path = self._paths.child(above, label, type(item), self._objects)
            sample = self._objects[self._paths.sample(path)] if path <= above else None
            if type(sample) is type(item):  # A chain of equal objects that stays at one path.
                self._paths.entries[path] += 1
            child = self._add(item, node, path)
        self._edges.append(child)


def _is_node(node: int) -> bool:
    return node != NO_NODE


class MakeGraph(Protocol):
    """The class of the compiled graph or of the graph in pure Python."""

    @property
    def own_memory(self) -> OwnMemory | None:
        """The function that reads arrays with memory of their own; None if Python reads all."""

    def tracked_addresses(self) -> bytes | None:
        """Return the addresses of all tracked objects; None unless a walk may borrow them."""

    def tracked_of(self, tracked: bytes, cls: type) -> list[Any]:
        """Return the objects of exactly this class at these addresses."""

    def __call__(self, describe: Describe, is_deferred: Callable[[type], bool]) -> Graph:
        """Make an empty graph."""
