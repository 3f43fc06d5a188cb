"""Describes what a walk found at a path as a holder: its name, its trace and what it keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any
from weakref import ReferenceType

from leakguard.capture.heap.capacity import capacity_of
from leakguard.capture.heap.classes import derives, qualified_name
from leakguard.capture.heap.device_memory import DeviceMemory
from leakguard.capture.heap.engine import address_of
from leakguard.capture.heap.growth import PathGrowth
from leakguard.capture.heap.half_built import entries_of
from leakguard.capture.heap.kept_in_c import KeptInC
from leakguard.capture.heap.layout import DICT, MEMORY
from leakguard.capture.heap.path_tree import NO_NODE, PathColumns
from leakguard.capture.heap.result import Held
from leakguard.capture.heap.retention import Retained
from leakguard.capture.heap.roots import is_ours
from leakguard.capture.heap.traces import onward_to, stable_name, trace_to
from leakguard.capture.heap.traits import traits_of
from leakguard.capture.heap.walked_graph import ADRIFT, WalkedGraph
from leakguard.model.census import GRAPH_NODE
from leakguard.model.holder import ELEMENT, Holder, Hop

_NUMBERS = (object, bool, int, float)


class NamedHolders:
    """Describes the containers, buffers and backward graphs of one walk."""

    def __init__(
        self,
        walked: WalkedGraph,
        paths: PathColumns,
        buffers: Container[int],
        devices: DeviceMemory,
    ) -> None:
        """``buffers`` are the paths of large strings, byte strings and arrays."""
        self._graph = walked.graph
        self._frameworks = walked.frameworks
        self._paths = paths
        self._buffers = buffers
        self._devices = devices
        self._in_c = KeptInC(walked.graph, walked.rooted)

    def at(
        self,
        path: int,
        nodes: Sequence[int],
        retained: Retained,
        growth: PathGrowth | None,
        suspects: Sequence[int],
    ) -> Holder:
        """Describe the containers at a path, or a buffer.

        Args:
            path: the path.
            nodes: the containers there.
            retained: what they retain.
            growth: how the path grew; None if it did not.
            suspects: one node of each growing class, whose way from an entry is told.
        """
        graph, sample = self._graph, self._paths.sample[path]
        if path in self._buffers:
            return self._buffer(path, growth)
        classes, size = graph.entries(nodes)
        traits = traits_of(graph, self._frameworks, sample, nodes)
        is_chain = "chain" in traits  # each instance refers to the next one
        cls = graph.class_of(sample) if is_chain else self._element(sample, classes)
        element = qualified_name(cls)
        name = stable_name(graph, sample) + ELEMENT
        hops = trace_to(graph, sample)
        entry = () if is_chain else (Hop(ELEMENT, element, suspect=True),)
        return Holder(
            path=name,
            element=element,
            entries=self._paths.entries[path],
            before=growth.before if growth else None,
            streak=growth.streak if growth else 0,
            capacity=capacity_of(graph, self._frameworks, nodes, self._paths.entries[path]),
            bytes=size,
            retained_bytes=retained.bytes,
            trace=(*_suspect_last(hops), *entry),
            fingerprint=fingerprint(name, element),
            graph_nodes=retained.graph_nodes or None,
            traits=traits,
            onward=onward_to(graph, suspects, path),
            containers=self._paths.objects[path],
        )

    def _element(self, node: int, classes: Sequence[tuple[type, int]]) -> type:
        """Return the most frequent class among the entries; for some dicts, the class of a key.

        The key's class is returned if the values are only numbers, or if the keys are weak
        references to objects that are alive elsewhere.
        """
        most = classes[0][0] if classes else object
        if self._graph.kind_of(node) != DICT:
            return most
        key = next((key for key, _ in entries_of(self._graph.object_at(node))), None)
        if key is None:
            return most
        if derives(type(key), ReferenceType):
            return type(key) if not classes or self._lives_apart(key, node) else most
        return type(key) if any(most is cls for cls in _NUMBERS) else most

    def _lives_apart(self, key: ReferenceType[Any], node: int) -> bool:
        """Return whether what a weak key leads to is alive, and not by a dict's own values."""
        address = address_of(key)
        target = self._graph.find_at(address) if address else NO_NODE
        return bool(address) and (target == NO_NODE or node not in self._graph.chain_to(target))

    def of_graph(self, tensor: int, nodes: Sequence[int], retained: Retained) -> Holder:
        """Describe a backward graph of these nodes by the tensor that holds it."""
        return replace(
            self._bare_holder(tensor, None),
            element=GRAPH_NODE,
            entries=len(nodes),
            retained_bytes=retained.bytes,
            graph_nodes=len(nodes),
            device_bytes=self._devices.saved_by(nodes) or None,
        )

    def longer(self, graph: Holder, path: int, growth: PathGrowth | None) -> Holder:
        """Add to a backward graph how a path in it grew.

        The path counts only the nodes of one chain, so the earlier number is scaled in proportion.
        """
        chain = self._paths.entries[path]
        if growth is None or not chain:
            return graph
        before = round(graph.entries * growth.before / chain)
        return replace(graph, before=before, streak=growth.streak)

    def _buffer(self, path: int, growth: PathGrowth | None) -> Holder:
        """Describe a string, byte string or array that became larger, with its own memory."""
        chain = self._graph.chain_to(self._paths.sample[path])
        node = chain[-2] if self._graph.kind_of(chain[-1]) == MEMORY else chain[-1]
        entries, size = self._paths.objects[path], self._paths.bytes[path]
        named = self._bare_holder(node, growth)
        return replace(named, entries=entries, bytes=size, retained_bytes=size)

    def _bare_holder(self, node: int, growth: PathGrowth | None) -> Holder:
        """Return a holder for a node, with its name and trace but without counts and bytes."""
        name = stable_name(self._graph, node)
        element = qualified_name(self._graph.class_of(node))
        return Holder(
            path=name,
            element=element,
            entries=0,
            streak=growth.streak if growth else 0,
            trace=_suspect_last(trace_to(self._graph, node)),
            fingerprint=fingerprint(name, element),
        )

    def held(self, node: int, retained: Retained) -> Held:
        """Describe one object and who holds it."""
        graph = self._graph
        return Held(
            type=qualified_name(graph.class_of(node)),
            held_by=self._held_by(node),
            trace=_suspect_last(trace_to(graph, node)),
            retained_bytes=retained.bytes,
        )

    def _held_by(self, node: int) -> str | None:
        return self._in_c.name_of(node) if self._is_adrift(node) else stable_name(self._graph, node)

    def _is_adrift(self, node: int) -> bool:
        return self._graph.root_name(self._graph.chain_to(node)[0]) == ADRIFT

    def is_programs(self, node: int) -> bool:
        """Return whether a node has a root and is not reached through the guard's objects."""
        return not self._is_adrift(node) and not self.is_ours(node)

    def is_ours(self, node: int) -> bool:
        """Return whether a node is, or was reached through, an object of the guard."""
        graph = self._graph
        chain = (n for n in graph.chain_to(node) if graph.kind_of(n) != MEMORY)
        return any(is_ours(graph.class_of(n)) for n in chain)


def fingerprint(path: str, element: str) -> str:
    """Return a short code that is the same for the same path and class in every run."""
    return hashlib.sha256(f"{path} {element}".encode()).hexdigest()[:12]


def _suspect_last(hops: tuple[Hop, ...]) -> tuple[Hop, ...]:
    return (*hops[:-1], replace(hops[-1], suspect=True))
