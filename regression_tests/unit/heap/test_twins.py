"""The compiled scan and its pure-Python twin say the same about the same heap."""

from __future__ import annotations

import collections
import functools
import gc
import sys
import types
from collections.abc import Callable

import pytest
from heap_engines import COMPILED, PYTHON, Engine, needs_both
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakguard.capture.heap.adapters import GraphAdapters
from leakguard.capture.heap.frameworks import Frameworks, loaded
from leakguard.capture.heap.retention import Retained

np = pytest.importorskip("numpy")
pytestmark = needs_both


# What leads from a small heap to the whole process is not followed.
_BORDER = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


class Plain:
    pass


class WithSlots:
    __slots__ = ("first", "second")


class ListKind(list):  # type: ignore[type-arg]
    pass


class DictKind(dict):  # type: ignore[type-arg]
    pass


def _plain(parts: list[object]) -> object:
    made = Plain()
    for position, part in enumerate(parts):
        setattr(made, f"part{position}", part)
    return made


def _slotted(parts: list[object]) -> object:
    made = WithSlots()
    for name, part in zip(("first", "second"), parts, strict=False):
        setattr(made, name, part)
    return made


def _method(parts: list[object]) -> object:
    return parts.append


def _array(parts: list[object]) -> object:
    made = np.empty(len(parts), dtype=object)
    for position, part in enumerate(parts):
        made[position] = part
    return made


def _view(parts: list[object]) -> object:
    return np.zeros(len(parts) + 10)[2:]


_leaves = st.one_of(
    st.integers(10**6, 10**9), st.text(min_size=3), st.binary(min_size=3), st.floats(), st.none()
)
_makers: list[Callable[[list[object]], object]] = [
    list, tuple, ListKind, collections.deque, _plain, _slotted, _method, _array, _view,
    lambda parts: dict(enumerate(parts)), lambda parts: {f"key{i}": p for i, p in enumerate(parts)},
    lambda parts: DictKind(enumerate(parts)), lambda parts: {id(part) for part in parts},
    lambda parts: types.CellType(parts), lambda parts: functools.partial(id, *parts),
]  # fmt: skip


@st.composite
def heaps(draw: st.DrawFn) -> list[object]:
    """Return objects that refer to earlier ones, and some of them to later ones, in cycles."""
    made: list[object] = draw(st.lists(_leaves, min_size=1, max_size=10))
    for _ in range(draw(st.integers(1, 25))):
        chosen = draw(st.lists(st.integers(0, len(made) - 1), max_size=8))
        make = draw(st.sampled_from(_makers))
        made.append(make([made[position] for position in chosen]))
    for item in made:
        if type(item) in (list, ListKind) and draw(st.booleans()):
            item.append(made[-1])
    return made


def _graph(engine: Engine, root: object):
    graph = engine.graph(
        GraphAdapters(Frameworks(loaded().numpy, None)).describe, lambda cls: cls in _BORDER
    )
    graph.walk([(root, "root", False)])
    return graph


def _shape(graph) -> list[tuple[object, ...]]:
    """Return the graph by what its nodes are; memory nodes have no identity of their own."""

    def name(node: int) -> object:
        item = graph.object_at(node)
        return "memory" if type(item).__name__ == "Memory" else id(item)

    return [
        (
            name(node),
            graph.size_of(node),
            graph.kind_of(node),
            sorted(map(str, map(name, graph.children(node)))),
            len(graph.chain_to(node)),
        )
        for node in range(len(graph))
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(heaps())
def test_graphs_of_random_heaps_are_equal(made: list[object]) -> None:
    graphs = [_graph(engine, made) for engine in (COMPILED, PYTHON)]
    try:
        shapes = [sorted(_shape(graph), key=str) for graph in graphs]
        assert shapes[0] == shapes[1]
        assert graphs[0].total_bytes() == graphs[1].total_bytes()
        columns = [graph.path_columns() for graph in graphs]
        for mine, other in zip(columns[0][1:], columns[1][1:], strict=True):
            assert sorted(mine) == sorted(other)
        containers = [graph.containers() for graph in graphs]
        assert len(containers[0]) == len(containers[1])
        assert sorted(graphs[0].places(containers[0])) == sorted(graphs[1].places(containers[1]))
        assert len(graphs[0].large_paths(100)) == len(graphs[1].large_paths(100))
    finally:
        for graph in graphs:
            graph.close()


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(heaps(), st.data())
def test_retained_bytes_of_random_groups_are_equal(made: list[object], data: st.DataObject) -> None:
    graphs = [_graph(engine, made) for engine in (COMPILED, PYTHON)]
    try:
        results = []
        chosen = data.draw(
            st.lists(
                st.tuples(st.lists(st.integers(0, len(made) - 1), min_size=1), st.booleans()),
                min_size=1,
                max_size=4,
            )
        )
        for graph in graphs:
            groups = []
            for positions, whole in chosen:
                nodes = sorted({graph.find(made[at]) for at in positions} - {-1, 0})
                groups.append((nodes, whole))
            results.append([Retained(*entry) for entry in graph.retained(groups)])
        for mine, other in zip(*results, strict=True):
            assert mine[0] == other[0]
            assert mine.share == pytest.approx(other.share)
            assert mine[2:] == other[2:]
    finally:
        for graph in graphs:
            graph.close()


def test_censuses_of_this_process_are_equal() -> None:
    assert COMPILED is not None
    gc.collect()  # or the collector would run between the two
    mine, other = (engine.census().census.types for engine in (COMPILED, PYTHON))
    unlike = {
        name: (mine[name].count, other[name].count)
        for name in mine.keys() & other.keys()
        # what the engines and this comparison make for themselves is not the same
        if abs(mine[name].count - other[name].count) > max(3, mine[name].count // 100)
    }
    assert set(unlike) <= {"int"}
    assert {"str", "code", "tuple", "dict", "function"} <= mine.keys()


def test_counts_agree_with_objgraph_on_what_it_sees() -> None:
    objgraph = pytest.importorskip("objgraph")
    held = [Plain() for _ in range(123)]
    census = PYTHON.census().census.types
    theirs = objgraph.typestats(shortnames=False)
    for cls in ("Plain", "ListKind"):
        name = f"{__name__}.{cls}"
        assert (census[name].count if name in census else 0) == theirs.get(name, 0)
    assert len(held) == 123


def test_sizes_agree_with_pympler_on_plain_containers() -> None:
    asizeof = pytest.importorskip("pympler.asizeof")
    made = {f"name {i}": [float(i), (f"text {i}", bytes(i))] for i in range(300)}
    assert COMPILED is not None
    for engine in (COMPILED, PYTHON):
        graph = _graph(engine, made)
        ours = graph.total_bytes()
        graph.close()
        assert ours == pytest.approx(asizeof.asizeof(made), rel=0.03)


def test_the_size_of_a_root_is_what_the_interpreter_says() -> None:
    for engine in (COMPILED, PYTHON):
        graph = _graph(engine, [1, 2, 3])
        assert graph.size_of(0) == sys.getsizeof([1, 2, 3])
        graph.close()
