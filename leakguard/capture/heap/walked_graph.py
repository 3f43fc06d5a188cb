"""Walks the object graph: first from all roots, then from the objects without a root."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from leakguard.capture.heap.adapters import GraphAdapters
from leakguard.capture.heap.frameworks import Frameworks, loaded
from leakguard.capture.heap.graph import Graph, MakeGraph
from leakguard.capture.heap.path_tree import NO_NODE
from leakguard.capture.heap.roots import (
    Root,
    context_roots,
    contexts_among,
    is_ours,
    local_roots,
    module_roots,
    own_module_roots,
    registry_roots,
)

ADRIFT = "(no root)"


@dataclass(frozen=True, slots=True)
class WalkedGraph:
    """A walked graph.

    ``rooted`` and ``rooted_bytes`` count the nodes that a root leads to. ``garbage`` are the nodes
    that nothing keeps alive but a cycle, if they were asked for.
    """

    graph: Graph
    frameworks: Frameworks
    rooted: int
    rooted_bytes: int
    adapters: GraphAdapters
    garbage: Sequence[int] = ()

    @property
    def adrift_bytes(self) -> int:
        """The bytes of the nodes that no root leads to."""
        return self.graph.total_bytes() - self.rooted_bytes

    @property
    def garbage_bytes(self) -> int:
        """The bytes of the garbage."""
        return sum(map(self.graph.size_of, self.garbage))

    def close(self) -> None:
        """Release every object."""
        self.graph.close()


def walk_graph(
    make_graph: MakeGraph,
    targets: Sequence[Any],
    *,
    borrows: bool = False,
    sorts_garbage: bool = False,
) -> WalkedGraph:
    """Walk the whole graph; ``targets``, a sequence of the guard, does not count as a holder.

    With ``borrows``, a walk in a copy of the process holds no object: a reference count that is
    written would copy a page of memory. Nothing of the program may be freed until it is closed.
    """
    # Local variables are read before ``tracked`` is made. Reading them fills a dict of each frame.
    # ``local_variables`` empties the dict again, but only if nothing else refers to the dict, and
    # ``tracked`` would refer to it.
    local = list(_all_but(targets, local_roots(standard=False)))
    others = list(_all_but(targets, local_roots(standard=True)))
    borrowed = make_graph.tracked_addresses() if borrows else None
    tracked = gc.get_objects() if borrowed is None else None
    if borrowed is not None:
        contexts = make_graph.tracked_of(borrowed, Context)
    else:
        contexts = contexts_among(tracked or ())
    others += context_roots([copy_context()])
    others += registry_roots()
    frameworks = loaded()
    adapters = GraphAdapters(frameworks, make_graph.own_memory)
    graph = make_graph(adapters.describe, is_ours)
    try:
        if borrowed is not None:
            graph.borrow(borrowed)
        with frameworks.quiet():
            rooted = _walk(graph, local, others, contexts, tracked, targets)
            if tracked is not None:
                tracked.clear()  # it holds all that it lists
            # Now: what this function drops on its way out would be garbage.
            garbage = graph.garbage(rooted[0]) if sorts_garbage else ()
    except BaseException:
        graph.close()
        raise
    finally:
        local.clear()
        others.clear()
        contexts.clear()
        if tracked is not None:
            tracked.clear()
    return WalkedGraph(graph, frameworks, *rooted, adapters, garbage)


def _all_but(skipped: object, roots: Iterable[Root]) -> Iterator[Root]:
    # A function of its own: a comprehension in the caller would keep ``skipped`` in a closure cell,
    # which the walk would find.
    for root in roots:
        if root[0] is not skipped:
            yield root


def _walk(
    graph: Graph,
    local: list[Root],
    others: list[Root],
    contexts: list[Context],
    tracked: list[object] | None,
    targets: object,
) -> tuple[int, int]:
    """Walk the graph; return the number and the bytes of the nodes that a root leads to."""
    graph.put_off(module_roots(standard=True))
    graph.walk(module_roots(standard=False))
    graph.walk(local)
    graph.walk_put_off()
    graph.walk(others)
    # A task or a callback holds its context; as a root, it would hide that they hold the values.
    graph.walk(context_roots([one for one in contexts if graph.find(one) == NO_NODE]))
    graph.walk(own_module_roots())
    graph.walk_deferred()
    rooted = len(graph), graph.total_bytes()
    graph.walk_rest(tracked, ADRIFT, targets)
    return rooted
