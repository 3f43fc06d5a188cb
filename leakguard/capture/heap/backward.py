"""Backward graphs of torch: C++ nodes that the garbage collector does not know."""

from __future__ import annotations

from collections.abc import Iterable
from types import GetSetDescriptorType
from typing import Any

from leakguard.capture.heap.classes import lineage, namespace
from leakguard.capture.heap.frameworks import SavedSlot, Torch

# Bytes that torch 2.13 allocates in C++ for a node of a graph, including its records of saved
# tensors; measured with mallinfo2.
NODE_BYTES = 640
# Most nodes that a look follows, because each node gets a Python object that lives until the look
# is done. Measured: 48,000 nodes take 0.15 s of CPU and 8 MB in a census, 90,000 take 0.6 s in a
# look at holders. A million took 11 s and 900 MB there, and the look was ended before.
MOST_NODES = 50_000


def count_nodes(tensors: Iterable[Any], torch: Torch, most: int = MOST_NODES) -> int:
    """Return how many nodes the backward graphs of tensors have together, at most ``most``.

    Saved tensors are not read, because each would get a Python object that lasts as long as itself.
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
    """Return whether instances are nodes of a backward graph: they have ``next_functions``."""
    return any(
        type(namespace(parent).get("next_functions")) is GetSetDescriptorType
        for parent in lineage(cls)
    )


def saved_slots(cls: type) -> tuple[SavedSlot, ...]:
    """Return, for each saved tensor of a node class, its readers: one raw, one unpacking."""
    return tuple(
        (raw.__get__, names[name.replace("_raw_saved", "_saved")].__get__)
        for names in map(namespace, lineage(cls))
        for name, raw in names.items()
        if name.startswith("_raw_saved_")
        and type(raw) is GetSetDescriptorType
        and name.replace("_raw_saved", "_saved") in names
    ) + _custom_slots(cls)


def _custom_slots(cls: type) -> tuple[SavedSlot, ...]:
    """Return the readers for nodes of autograd functions that are written in Python."""
    for names in map(namespace, lineage(cls)):
        raw, unpacked = names.get("_raw_saved_tensors"), names.get("saved_tensors")
        if type(raw) is type(unpacked) is GetSetDescriptorType:
            return ((raw.__get__, unpacked.__get__),)
    return ()
