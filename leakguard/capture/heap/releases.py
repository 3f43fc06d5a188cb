"""Finds what holds memory that may be released, and how much each statement would release.

In a copy of the process, the references that a statement would remove are removed one statement at
a time. The objects that no root reaches then are what the statement would release. Afterwards the
references are put back. The removed references are kept aside meanwhile, so nothing is freed and no
finalizer runs.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, get_args

from leakguard.capture.heap.classes import derives, module_namespace, qualified_name
from leakguard.capture.heap.collector import collector_held
from leakguard.capture.heap.frameworks import Frameworks, loaded
from leakguard.capture.heap.graph import MakeGraph
from leakguard.capture.heap.path_tree import NO_NODE
from leakguard.capture.heap.walked_graph import walk_graph
from leakguard.model.holding import Holding, HoldingKind, Holdings

# A statement that would release fewer bytes than ``_NOTABLE`` is not reported. At most
# ``_MOST_VARIABLES`` variables are measured. Chosen: each variable takes a heap walk of its own.
_NOTABLE = 100_000
_MOST_VARIABLES = 12
# Names under which IPython keeps results of cells, and IPython's own names, which are no variables
# of the user.
_RESULTS = re.compile(r"_{1,3}|_\d+|_oh|Out")
_OF_SHELL = re.compile(r"In|_ih|_i{1,3}|_i\d+|_dh|exit|quit|get_ipython|open")
_RANKS = get_args(HoldingKind)
_CACHED = type(functools.lru_cache(len))
_DEFINITIONS = (type, ModuleType, FunctionType, BuiltinFunctionType, _CACHED)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The references that a statement removes: names in namespaces, or all entries of a dict."""

    kind: HoldingKind
    what: str
    statement: str
    names: tuple[tuple[dict[str, Any], str], ...] = ()
    emptied: dict[Any, Any] | None = None
    type: str | None = None
    kept: int = 0  # bytes that the statement itself allocates, such as a copy


_GARBAGE = _Cut("cycles", "garbage that waits for the collector", "gc.collect()")


def take_holdings(make_graph: MakeGraph) -> Holdings:
    """Return what holds memory that may be released; call it only in a copy of the process."""
    with collector_held():
        total, found = _first_walk(make_graph)
        # Bytes of the garbage that exists already. They are subtracted from what each statement
        # releases. They are measured after the first walk, because that walk creates objects that
        # stay alive.
        adrift = _released(make_graph, _GARBAGE)
        found.append(Holding("cycles", _GARBAGE.what, _GARBAGE.statement, adrift))
        for cut in _cuts():
            released = _released(make_graph, cut) - adrift - cut.kept
            found.append(Holding(cut.kind, cut.what, cut.statement, released, cut.type))
        told = [holding for holding in found if holding.bytes >= _NOTABLE]
    return Holdings(tuple(sorted(told, key=lambda h: (_RANKS.index(h.kind), -h.bytes))), total)


def _first_walk(make_graph: MakeGraph) -> tuple[int, list[Holding]]:
    """Return the bytes of all objects, and the function caches with the bytes they retain."""
    found: list[Holding] = []
    with closing(walk_graph(make_graph, ())) as walked:
        caches = list(_caches())
        nodes = [walked.graph.find_at(id(cache)) for _, cache in caches]
        groups = [([node], False) for node in nodes if node != NO_NODE]
        measured = iter(walked.graph.retained(groups))
        for (name, _), node in zip(caches, nodes, strict=True):
            if node != NO_NODE:
                size = next(measured).bytes
                found.append(Holding("cache", name, f"{name}.cache_clear()", size))
        return walked.graph.total_bytes(), found


def _released(make_graph: MakeGraph, cut: _Cut) -> int:
    """Return the bytes that no root reaches without the references of a cut; put these back."""
    aside: list[Any] = []
    for namespace, name in cut.names:
        aside.append(namespace.pop(name))
    emptied = dict(cut.emptied) if cut.emptied is not None else {}
    aside.append(emptied)
    if cut.emptied is not None:
        dict.clear(cut.emptied)
    try:
        with closing(walk_graph(make_graph, aside)) as walked:
            return walked.adrift[1]
    finally:
        if cut.emptied is not None:
            dict.update(cut.emptied, emptied)
        for (namespace, name), value in zip(cut.names, aside, strict=False):
            namespace[name] = value


def _cuts() -> Iterator[_Cut]:
    main = module_namespace(sys.modules["__main__"])
    yield from _last_exception()
    yield from _results(main)
    yield from _figures()
    yield from _variables(main)


def _last_exception() -> Iterator[_Cut]:
    own = vars(sys)
    names = [name for name in ("last_value", "last_traceback", "last_exc") if name in own]
    if names:
        statement = f"del {', '.join(f'sys.{name}' for name in names)}"
        places = tuple((own, name) for name in names)
        yield _Cut("exception", "the last exception and its frames", statement, places)


def _results(main: dict[str, Any]) -> Iterator[_Cut]:
    results = main.get("_oh")
    if type(results) is dict:
        names = [n for n in main if type(n) is str and _RESULTS.fullmatch(n)]
        places = tuple((main, name) for name in names)
        yield _Cut("output", "results of cells (Out)", "%reset -f out", places, results)


def _figures() -> Iterator[_Cut]:
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    figures = getattr(getattr(helpers, "Gcf", None), "figs", None)
    if figures is not None and derives(type(figures), dict) and dict.__len__(figures):
        what = f"{dict.__len__(figures)} open figures"
        yield _Cut("figures", what, 'matplotlib.pyplot.close("all")', emptied=figures)


def _variables(main: dict[str, Any]) -> Iterator[_Cut]:
    """Yield a cut for each of the main module's variables that retain the most."""
    names = [name for name in list(main) if type(name) is str and _is_variable(name, main[name])]
    frameworks = loaded()
    for name in names if len(names) <= _MOST_VARIABLES else _largest(main, names):
        value, places = main[name], ((main, name),)
        size = _size_of_view(value, frameworks)
        kind: HoldingKind = "variable" if size is None else "view"
        statement = f"del {name}" if size is None else f"{name} = {name}.copy()"
        yield _Cut(kind, name, statement, places, type=qualified_name(type(value)), kept=size or 0)


def _is_variable(name: str, value: object) -> bool:
    hidden = name.startswith("__") or _RESULTS.fullmatch(name) or _OF_SHELL.fullmatch(name)
    return not hidden and not any(derives(type(value), kind) for kind in _DEFINITIONS)


def _largest(main: dict[str, Any], names: list[str]) -> list[str]:
    from leakguard.capture.heap import engine

    with closing(walk_graph(engine.Graph, ())) as walked:
        graph = walked.graph
        nodes = {name: graph.find_at(id(main[name])) for name in names}
        known = [name for name, node in nodes.items() if node != NO_NODE]
        measured = graph.retained([([nodes[name]], True) for name in known])
    sizes = {name: told.share for name, told in zip(known, measured, strict=True)}
    return sorted(sizes, key=lambda name: -sizes[name])[:_MOST_VARIABLES]


def _size_of_view(value: object, frameworks: Frameworks) -> int | None:
    """Return the bytes of an array that is a view of at most half of its base; None for others."""
    numpy = frameworks.numpy
    if numpy is None or not derives(type(value), numpy.kind):
        return None
    base = numpy.base(value)
    if base is None or not derives(type(base), numpy.kind):
        return None
    size, whole = int(numpy.bytes(value)), int(numpy.bytes(base))
    return size if 2 * size <= whole else None


def _caches() -> Iterator[tuple[str, object]]:
    """Yield the name and the object of each cached function that a module has by name."""
    seen = set[int]()
    for module, item in list(sys.modules.items()):
        if type(module) is not str or not derives(type(item), ModuleType):
            continue
        prefix = "" if module == "__main__" else f"{module}."
        for name, value in list(module_namespace(item).items()):
            if type(value) is _CACHED and id(value) not in seen:
                seen.add(id(value))
                yield f"{prefix}{name}", value
