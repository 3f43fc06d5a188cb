"""The tree of paths: where objects lie as seen from the roots, whatever their number."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

NO_NODE = -1
# Kinds of edges. Elements of a container all share one label, so that indices collapse. INSTANCE:
# the only reference of an instance is a dict: its own, or that of its only attribute.
ROOT, ELEMENT, KEY, NAMESPACE, NAME, POSITION, INSTANCE = range(7)
Label = tuple[int, Hashable]

# Beyond this depth, everything that a path leads to stays at that path.
MAX_DEPTH = 64
# Beyond this depth, containers in containers of the same type stay at one path.
NESTED = 8


class PathColumns(NamedTuple):
    """The tree of paths, one entry a path, parents before children.

    ``key`` is the same for the same path in every look of one process, ``kind`` the kind of edge
    that leads to it. ``sample`` is a node at the path, ``objects`` how many there are, ``entries``
    how many elements its containers have, ``bytes`` the size of the objects themselves, and
    ``below`` that with everything that the path is the first way to.
    """

    key: Sequence[int]
    kind: Sequence[int]
    parent: Sequence[int]
    sample: Sequence[int]
    objects: Sequence[int]
    entries: Sequence[int]
    bytes: Sequence[int]
    below: Sequence[int]


class PathTree:
    """Paths by number; a chain of equal objects (``node.next.next``) stays at one path."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Label], int] = {}
        self._labels: list[Label] = []
        self._keys, self._parents = array("q"), array("i")
        self._samples, self.entries = array("i"), array("q")
        self._depths = array("i")
        self._kinds = bytearray()

    def root(self, name: str, is_namespace: bool) -> int:
        """Return the path of a root."""
        label = (NAMESPACE if is_namespace else ROOT, name)
        return self._known.get((NO_NODE, label)) or self._add(NO_NODE, label)

    def child(self, path: int, label: Label, cls: type, objects: Sequence[Any]) -> int:
        """Return the path of an edge; ``cls`` is the type of the object at its end."""
        known = self._known.get((path, label))
        if known is None:
            known = self._same_again(path, label, cls, objects)
            if known == NO_NODE:
                return self._add(path, label)
            self._known[path, label] = known
        return known

    def note(self, path: int, node: int) -> None:
        """Remember the first node at a path."""
        if self._samples[path] == NO_NODE:
            self._samples[path] = node

    def sample(self, path: int) -> int:
        """Return the first node that was found at a path."""
        return self._samples[path]

    def is_namespace(self, path: int) -> bool:
        """Return whether the path is that of a namespace: module, class or instance dict."""
        return self._labels[path][0] == NAMESPACE

    def columns(self, path_of: Sequence[int], sizes: Sequence[int]) -> PathColumns:
        """Return the tree, given the path and the size of every node."""
        objects = array("q", bytes(8 * len(self._labels)))
        totals = array("q", objects)
        for path, size in zip(path_of, sizes, strict=True):
            objects[path] += 1
            totals[path] += size
        below = array("q", totals)
        for path in range(len(below) - 1, -1, -1):
            if self._parents[path] != NO_NODE:
                below[self._parents[path]] += below[path]
        return PathColumns(
            self._keys,
            self._kinds,
            self._parents,
            self._samples,
            objects,
            self.entries,
            totals,
            below,
        )

    def _same_again(self, path: int, label: Label, cls: type, objects: Sequence[Any]) -> int:
        if self._depths[path] >= MAX_DEPTH:
            return path
        if label[0] == ELEMENT and self._depths[path] < NESTED:
            return NO_NODE
        if self._labels[path][0] in (NAMESPACE, INSTANCE) and self._parents[path] != NO_NODE:
            path = self._parents[path]
        same = self._labels[path] == label and type(objects[self._samples[path]]) is cls
        return path if same else NO_NODE

    def _add(self, parent: int, label: Label) -> int:
        path = self._known[parent, label] = len(self._labels)
        self._labels.append(label)
        self._kinds.append(label[0])
        self._parents.append(parent)
        self._samples.append(NO_NODE)
        self.entries.append(0)
        above = self._keys[parent] if parent != NO_NODE else 0
        self._depths.append(self._depths[parent] + 1 if parent != NO_NODE else 0)
        self._keys.append(hash((above, label)))
        return path
