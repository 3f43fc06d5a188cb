"""A census: what lives on the heap, counted and sized by type."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from leakguard.capture.heap.backward import NODE_BYTES, count_nodes
from leakguard.capture.heap.classes import derives, qualified_name
from leakguard.capture.heap.collector import collector_held
from leakguard.capture.heap.frameworks import Frameworks, loaded
from leakguard.capture.heap.result import HeapCensus
from leakguard.capture.heap.storage import Piece, UniqueMemory
from leakguard.capture.heap.tally import ClassCount, Tally
from leakguard.model.census import GRAPH_NODE, Census, LargeObject, TypeCount

Walk = Callable[[Frameworks, int], Tally]
_OURS = "leakguard."
_LARGEST_POOLED = 512
_POOLING = frozenset({"", "default", "debug", "pymalloc", "pymalloc_debug"})


def take_census(walk: Walk, engine: str, watch: Mapping[str, type], large: int) -> HeapCensus:
    """Walk the heap once and reduce it to numbers and names.

    ``watch`` maps the names wanted in the result to classes; ``large`` is in bytes. The garbage
    collector is held back during the walk, so that it does not free objects that are being counted.
    """
    start = time.perf_counter()
    with collector_held():
        frameworks = loaded()
        tally = walk(frameworks, large)
        ledger = UniqueMemory(
            tally.arrays, tally.tensors, frameworks, tally.of_arrays, tally.of_tensors
        )
        return HeapCensus(
            census=_census(tally, ledger, frameworks, large),
            watched=_watched(tally.classes, watch),
            python_bytes=sum(entry.bytes for entry in tally.classes),
            pooled_bytes=_pooled(tally.classes),
            seconds=time.perf_counter() - start,
            engine=engine,
        )


def _pooled(classes: Iterable[ClassCount]) -> int:
    """Estimate the bytes in Python's pools: those of classes whose average object is small."""
    if os.environ.get("PYTHONMALLOC", "pymalloc") not in _POOLING:
        return 0
    return sum(entry.bytes for entry in classes if entry.bytes <= _LARGEST_POOLED * entry.live)


def _census(tally: Tally, ledger: UniqueMemory, frameworks: Frameworks, large: int) -> Census:
    types = _types(tally.classes, ledger) | _graph_nodes(tally.tensors, frameworks)
    return Census(
        types=types,
        objects=sum(entry.live for entry in tally.classes),
        bytes=sum(entry.bytes or 0 for entry in types.values()),
        arrays=ledger.arrays.total() if frameworks.numpy else None,
        mapped=ledger.mapped.total() if frameworks.numpy else None,
        tensors={device: group.total() for device, group in sorted(ledger.tensors.items())},
        large=tuple(_large(tally, ledger, frameworks, large)),
    )


def _types(classes: Sequence[ClassCount], ledger: UniqueMemory) -> dict[str, TypeCount]:
    counts: defaultdict[str, int] = defaultdict(int)
    sizes: defaultdict[str, int] = defaultdict(int)
    for entry in classes:
        name = qualified_name(entry.cls)
        counts[name] += entry.live
        sizes[name] += entry.bytes
    owners = {id(entry.cls): qualified_name(entry.cls) for entry in classes}
    for entry in ledger.owned:
        sizes[owners[id(entry.cls)]] += entry.bytes
    for piece in ledger.in_memory():
        sizes[owners[id(type(piece.owner))]] += piece.buffer.bytes
    return {
        name: TypeCount(count, sizes[name])
        for name, count in counts.items()
        if not name.startswith(_OURS)
    }


def _graph_nodes(tensors: Sequence[Any], frameworks: Frameworks) -> dict[str, TypeCount]:
    """Count the nodes of backward graphs like a type, although they are no Python objects."""
    if frameworks.torch is None:
        return {}
    with frameworks.quiet():
        nodes = count_nodes(tensors, frameworks.torch)
    return {GRAPH_NODE: TypeCount(nodes, nodes * NODE_BYTES)} if nodes else {}


def _watched(classes: Iterable[ClassCount], watch: Mapping[str, type]) -> dict[str, int]:
    if not watch:
        return {}
    counted = list(classes)
    return {
        name: sum(entry.live for entry in counted if derives(entry.cls, wanted))
        for name, wanted in watch.items()
    }


def _large(
    tally: Tally, ledger: UniqueMemory, frameworks: Frameworks, large: int
) -> list[LargeObject]:
    found = [LargeObject(qualified_name(cls), size) for cls, size in tally.large]
    found += [
        _described(piece, frameworks)
        for group in ledger.groups()
        for piece in group.pieces.values()
        if piece.buffer.bytes >= large
    ]
    return sorted(found, key=lambda entry: (-entry.bytes, entry.type))


def _described(piece: Piece, frameworks: Frameworks) -> LargeObject:
    with frameworks.quiet():
        shape, dtype, _ = frameworks.describe(piece.owner)
    return LargeObject(
        type=qualified_name(type(piece.owner)),
        bytes=piece.buffer.bytes,
        shape=shape,
        dtype=dtype,
        device=piece.buffer.device,
    )
