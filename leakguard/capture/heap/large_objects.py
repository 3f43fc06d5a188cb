"""The program's objects that retain much memory, each with who holds it."""

from __future__ import annotations

from leakguard.capture.heap.classes import qualified_name
from leakguard.capture.heap.contents import Contents
from leakguard.capture.heap.frameworks import Frameworks
from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.layout import MEMORY
from leakguard.capture.heap.retention import Retained
from leakguard.capture.heap.roots import is_ours
from leakguard.capture.heap.traces import is_program_class, stable_name
from leakguard.model.census import LargeObject


def large_in(
    graph: Graph, frameworks: Frameworks, threshold: int, limit: int
) -> tuple[LargeObject, ...]:
    """Return the program's instances and the buffer owners that retain ``threshold`` bytes.

    Of each, at most ``limit``; the largest come first.
    """
    heavy = graph.heavy(threshold)
    owners = [graph.chain_to(node)[-2] for node in heavy if graph.kind_of(node) == MEMORY]
    instances = [node for node in heavy if _is_programs(graph.class_of(node))]
    chosen = list(dict.fromkeys([*instances[-limit:], *owners[:limit]]))
    measured, contents = graph.retained([([node], True) for node in chosen]), Contents()
    found = [
        _described(graph, frameworks, contents, node, retained)
        for node, retained in zip(chosen, measured, strict=True)
        if retained.bytes >= threshold
    ]
    return tuple(sorted(found, key=lambda entry: -(entry.retained_bytes or 0)))


def _described(
    graph: Graph, frameworks: Frameworks, contents: Contents, node: int, retained: Retained
) -> LargeObject:
    item = graph.object_at(node)
    shape, dtype, device = frameworks.describe(item)
    buffer = frameworks.own_buffer(item)
    return LargeObject(
        type=qualified_name(type(item)),
        bytes=graph.entries([node])[1],
        shape=shape,
        dtype=dtype,
        device=device,
        held_by=stable_name(graph, node),
        retained_bytes=retained.bytes,
        digest=None if buffer is None else contents.digest(buffer),
    )


def _is_programs(cls: type) -> bool:
    return is_program_class(cls) and not is_ours(cls)
