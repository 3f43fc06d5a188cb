"""Memory on devices such as GPUs, by the containers that it lies in.

The numbers of a walk are of host memory only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.layout import Memory
from leakguard.capture.heap.path_tree import NO_NODE


class DeviceMemory:
    """The buffers on devices that one walk has met."""

    def __init__(self, graph: Graph, buffers: Iterable[tuple[Memory, int]]) -> None:
        """``buffers`` are nodes of the graph, each with its bytes on a device."""
        found = ((graph.find(memory), size) for memory, size in buffers)
        self._graph = graph
        self._bytes = {node: size for node, size in found if node != NO_NODE}
        self._sums, self._samples = Counter[int](), dict[int, int]()
        for node, size in self._bytes.items():
            path = graph.path_of(node)
            self._sums[path] += size
            self._samples.setdefault(path, node)

    def largest(self, most: int) -> list[int]:
        """Return one buffer of each of the paths with the most bytes, largest first."""
        return [self._samples[path] for path, _ in self._sums.most_common(most)]

    def by_path(self, containers: bytes) -> Counter[int]:
        """Return the bytes behind each path at which containers lie.

        ``containers`` has a byte for each path, nonzero if containers lie there. What is behind
        a container of containers counts for both.
        """
        behind: Counter[int] = Counter()
        # All buffers at one path are behind the same paths.
        ways = self._graph.ways(list(self._samples.values()), containers)
        for size, way in zip(map(self._sums.__getitem__, self._samples), ways, strict=True):
            for path in {path for path, _ in way}:
                behind[path] += size
        return behind

    def saved_by(self, backward: Sequence[int]) -> int:
        """Return the bytes of the tensors that nodes of backward graphs have saved."""
        if not self._bytes:
            return 0
        children = self._graph.children
        saved = {tensor for node in backward for tensor in children(node)}
        held = {memory for tensor in saved for memory in children(tensor)}
        return sum(self._bytes.get(memory, 0) for memory in held)
