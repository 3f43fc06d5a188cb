"""Backward graphs of torch: C++ nodes that no collector and no census sees."""

from __future__ import annotations

from collections.abc import Iterable
from types import GetSetDescriptorType
from typing import Any

from leakguard.capture.heap.classes import lineage, namespace
from leakguard.capture.heap.frameworks import SavedSlot, Torch

# What torch 2.13 allocates in C++ for a node of a graph with what it notes on its saved tensors,
# measured with mallinfo2.
NODE_BYTES = 640
# Most nodes that a census counts. Measured: 0.15 s of CPU and 8 MB for 48,000. Each is reached
# through a Python object that lives until the count is done.
_MOST_NODES = 50_000


def count_nodes(tensors: Iterable[Any], torch: Torch, most: int = _MOST_NODES) -> int:
    """Return how many nodes the backward graphs of tensors have together, ``most`` at most.

    The saved tensors are not read: each would get a Python object that it keeps.
    """
    met: dict[int, Any] = {}  # keeps the wrappers, so that no id is reused
    waiting: list[Any] = []

    def meet(node: Any) -> None:
        if id(node) not in met:
            met[id(node)] = node
            waiting.append(node)

    for tensor in tensors:
        node = torch.node(tensor)
        if node is not None:
            meet(node)
    while waiting and len(met) < most:
        for node in torch.next_nodes(waiting.pop()):
            meet(node)
    return min(len(met), most)


def is_backward_node(cls: type) -> bool:
    """Return whether instances are nodes of a backward graph, by torch's attributes."""
    return any(
        type(namespace(parent).get("next_functions")) is GetSetDescriptorType
        for parent in lineage(cls)
    )


def saved_slots(cls: type) -> tuple[SavedSlot, ...]:
    """Return the readers of the saved tensors of a node class: raw, and unpacked."""
    return tuple(
        (raw.__get__, names[name.replace("_raw_saved", "_saved")].__get__)
        for names in map(namespace, lineage(cls))
        for name, raw in names.items()
        if name.startswith("_raw_saved_")
        and type(raw) is GetSetDescriptorType
        and name.replace("_raw_saved", "_saved") in names
    ) + _custom_slots(cls)


def _custom_slots(cls: type) -> tuple[SavedSlot, ...]:
    """Return the same for nodes of functions that were written in Python."""
    for names in map(namespace, lineage(cls)):
        raw, unpacked = names.get("_raw_saved_tensors"), names.get("saved_tensors")
        if type(raw) is type(unpacked) is GetSetDescriptorType:
            return ((raw.__get__, unpacked.__get__),)
    return ()
