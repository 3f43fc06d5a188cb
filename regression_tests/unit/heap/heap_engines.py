"""Both implementations of the heap engine behind one face, so that every test holds for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from leakguard.capture.heap import Inspection, PathMemory, graph, walk
from leakguard.capture.heap.census import take_census
from leakguard.capture.heap.inspection import take_inspection, take_memory
from leakguard.capture.heap.result import HeapCensus

try:
    from leakguard.capture.heap import compiled
except ImportError:
    compiled = None


@dataclass(frozen=True)
class Engine:
    name: str
    tally: Any
    graph: Any
    instances: Any

    def census(
        self, watch: Mapping[str, type] | None = None, large: int = 50_000_000
    ) -> HeapCensus:
        return take_census(self.tally, self.name, watch or {}, large)

    def inspect(
        self,
        memory: PathMemory | None = None,
        targets: Sequence[Any] = (),
        large: int = 50_000_000,
        limit: int = 10,
        suspects: Sequence[str] = (),
        tell_cycles: Callable[[int, int], bool] | None = None,
    ) -> Inspection:
        memory, addresses = memory or PathMemory(), [*map(id, targets)]
        if isinstance(targets, list):
            targets.clear()  # the test's own list holds nothing that is asked about
        del targets
        return take_inspection(
            self.graph,
            self.name,
            memory,
            addresses,
            large,
            limit,
            suspects,
            tell_cycles,
        )

    def remember(self) -> PathMemory:
        return take_memory(self.graph)

    def cycles(self, worth: Callable[[int, int], bool] = lambda *_: True) -> Any:
        """Return the cycles among what no root leads to, where it is ``worth`` telling them."""
        return self.inspect(tell_cycles=worth).cycles


PYTHON = Engine("python", walk.tally, graph.Graph, walk.instances)
COMPILED = (
    Engine("compiled", compiled.tally, compiled.CompiledGraph, compiled.instances)
    if compiled
    else None
)
ENGINES = [engine for engine in (COMPILED, PYTHON) if engine is not None]
# A look of the pure twin takes a second: where the compiled scan is at hand, the twin's part waits
# for `make test-all`; that both say the same of any heap is tested always (test_twins.py).
slow_twin = [] if COMPILED is None else [pytest.mark.heavy]


def _params(value: Callable[[Engine], Any]) -> list[Any]:
    marks = [slow_twin if engine is PYTHON else [] for engine in ENGINES]
    return [pytest.param(value(e), id=e.name, marks=m) for e, m in zip(ENGINES, marks, strict=True)]


engine_params = _params(lambda engine: engine)
each_engine = pytest.mark.parametrize("engine", engine_params)
engine_names = pytest.mark.parametrize("engine", _params(lambda engine: engine.name))
both_engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
needs_both = pytest.mark.skipif(COMPILED is None, reason="the compiled scan was not built")
