"""Objects that only C code keeps alive: atexit, codecs, a database, a running C function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.traces import name_along

#: The name of a holder in C code if nothing more is known about the holder.
IN_C = "(C code)"
# If more objects than this have no root, their references are not followed. Chosen, to limit the
# cost.
_MOST_ADRIFT = 100_000


class KeptInC:
    """The paths from C code to objects without a root, in one walked graph."""

    def __init__(self, graph: Graph, rooted: int) -> None:
        self._graph = graph
        self._rooted = rooted

    def name_of(self, node: int) -> str | None:
        """Return the name of a node without a root; None if nothing keeps it."""
        chain = self._way_to(node)
        return None if chain is None else name_along(self._graph, chain, IN_C)

    def _way_to(self, node: int) -> list[int] | None:
        """Return the path to a node without a root, from an object that no other object refers to.

        Only C code can keep such an object alive. The result is None for garbage: garbage is kept
        by a cycle, in which every object has a referrer.
        """
        below: dict[int, int | None] = {node: None}
        for at in (queue := [node]):
            above = self._above.get(at)
            if not above:
                return list(_down(below, at)) if self._above else None
            fresh = [holder for holder in above if holder not in below]
            below.update(dict.fromkeys(fresh, at))
            queue += fresh
        return None

    @cached_property
    def _above(self) -> dict[int, list[int]]:
        """The referrers without a root of each node; empty if there are too many such objects."""
        above: dict[int, list[int]] = {}
        adrift = range(self._rooted, len(self._graph))
        for holder in adrift if len(adrift) <= _MOST_ADRIFT else ():
            for held in self._graph.children(holder):
                above.setdefault(held, []).append(holder)
        return above


def _down(below: dict[int, int | None], first: int) -> Iterator[int]:
    at: int | None = first
    while at is not None:
        yield at
        at = below[at]
