"""The tree of paths: where objects lie as seen from the roots; many objects may share a path."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from types import CellType
from typing import Any, NamedTuple

NO_NODE = -1
# Kinds of edges. All elements of a container share one label, so a path has no indices. INSTANCE is
# the edge from an instance to a dict if the instance refers to nothing but its class and the dict.
# The dict is the ``__dict__`` of the instance, or the value of its only attribute.
ROOT, ELEMENT, KEY, NAMESPACE, NAME, POSITION, INSTANCE = range(7)
Label = tuple[int, Hashable]

# From this depth on, all objects that are reached from an object get the path of that object.
MAX_DEPTH = 64
# If the path of a container has at least this many edges, a container of the same type inside it
# gets the same path.
NESTED = 8
# A function that is wrapped again and again is a chain, too: each wrapper refers to the one before
# by a tuple (the arguments of a partial), or by a tuple and a cell (a closure). So many of these
# may lie between two links. What can be called has a path of its own there, apart from what else
# the wrapper refers to.
BETWEEN_LINKS = 2


def is_link(cls: type) -> bool:
    """Return whether objects of a class may lie between two wrappers of a function."""
    return cls is tuple or cls is CellType  # by identity: a metaclass may compare as it likes


class PathColumns(NamedTuple):
    """The tree of paths as columns with one value per path, parents before children.

    Attributes:
        key: identifies the path; the same in every look of one process.
        kind: the kind of the edge that leads to the path.
        parent: the path above, or ``NO_NODE``.
        sample: the first node that was found at the path.
        objects: how many objects lie at the path.
        entries: how many elements the containers at the path have together.
        bytes: the size of the objects at the path themselves.
        below: ``bytes`` plus the size of everything that was first reached through the path.
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
    """Numbers the paths; a chain of objects of one class (``node.next.next``) stays at one path."""

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
        """Return the path at the end of an edge; ``cls`` is the type of the object there."""
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
        may_stay = label[0] != ELEMENT or self._depths[path] >= NESTED
        for between in range(BETWEEN_LINKS + 1):
            if self._labels[path][0] in (NAMESPACE, INSTANCE) and self._parents[path] != NO_NODE:
                path = self._parents[path]
            there = type(objects[self._samples[path]])
            if (between or may_stay) and self._labels[path] == label and there is cls:
                return path
            if not is_link(there) or is_link(cls) or self._parents[path] == NO_NODE:
                break
            path = self._parents[path]
        return NO_NODE

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
