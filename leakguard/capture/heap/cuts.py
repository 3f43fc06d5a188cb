"""The statements that could release memory, each with the references that it removes."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from leakguard.capture.heap import shell
from leakguard.capture.heap.classes import LRU_CACHE, derives, module_namespace, qualified_name
from leakguard.capture.heap.copies import equal_places
from leakguard.capture.heap.frameworks import Frameworks, loaded
from leakguard.capture.heap.graph import MakeGraph
from leakguard.capture.heap.path_tree import NO_NODE
from leakguard.capture.heap.places import (
    RESULTS,
    Assignable,
    dropped,
    main_namespace,
    mapped,
    places_below,
    shared,
    variables,
)
from leakguard.capture.heap.traits import extents_of
from leakguard.capture.heap.walked_graph import walk_graph
from leakguard.capture.library import is_library
from leakguard.model.holding import HoldingKind

#: A statement that would release fewer bytes is not reported.
NOTABLE = 100_000
# At most ``_MOST_VARIABLES`` variables are measured, and ``_MOST_GROUPS`` copied arrays or queues.
# Chosen: each takes a heap walk of its own. A statement that changes single places changes at most
# ``_MOST_TOLD`` of them, so that a person can read it.
_MOST_VARIABLES, _MOST_GROUPS, _MOST_TOLD = 12, 4, 8


@dataclass(frozen=True, slots=True)
class Cut:
    """The references that a statement removes; ``kept`` are the bytes that it allocates itself."""

    kind: HoldingKind
    what: str
    statement: str
    places: tuple[Assignable, ...]
    type: str | None = None
    kept: int = 0


def cuts(make_graph: MakeGraph) -> Iterator[Cut]:
    """Yield first a cut of nothing, then what may go and what is largest, as the program stands.

    Everything is found before the first is yielded, so that what this keeps is the same for all.
    """
    main = main_namespace()
    found = [Cut("variable", "", "", ()), *_last_exception(), *_results(main), *_figures()]
    found += _below(main, loaded())
    told = {p.text for cut in found if cut.kind != "duplicates" for p in cut.places if not p.holder}
    found += _variables(main, make_graph, told)
    yield from found


def _below(main: dict[str, Any], frameworks: Frameworks) -> list[Cut]:
    places = places_below(main)
    with frameworks.quiet():
        return [
            *_errors(places),
            *_graphs(places, frameworks),
            *_views(places, frameworks),
            *_duplicates(places, frameworks),
            *_queues(places),
        ]


def import_of(module: str) -> tuple[str, str]:
    """Return what a statement begins with to use a module, and the module's name in it."""
    for name, value in list(main_namespace().items()):
        if type(name) is str and value is sys.modules.get(module):
            return "", name
    return f"import {module}; ", module


def _last_exception() -> Iterator[Cut]:
    own = vars(sys)
    names = [name for name in ("last_value", "last_traceback", "last_exc") if name in own]
    if names:
        before, sys_name = import_of("sys")
        statement = f"{before}del {', '.join(f'{sys_name}.{name}' for name in names)}"
        printed = list(shell.printed_errors())
        statement = "; ".join([statement, *(f"{place.text} = None" for place in printed)])
        places = [Assignable(own, name, "", "name") for name in names]
        places += [*printed, *shell.last_cell()]
        yield Cut("exception", "the last exception and its frames", statement, tuple(places))


def _results(main: dict[str, Any]) -> Iterator[Cut]:
    results = main.get("_oh")
    if type(results) is dict:
        names = [n for n in main if type(n) is str and RESULTS.fullmatch(n)]
        places = [Assignable(main, name, "", "name") for name in names]
        places += [Assignable(results, key, "Out", "entry") for key in results]
        places += [*(recent := list(shell.recent_results())), *shell.last_cell()]
        statement = shell.FORGET_RESULTS if recent else "%reset -f out"
        yield Cut("output", "results of cells (Out)", statement, tuple(places))


def _figures() -> Iterator[Cut]:
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    figures = getattr(getattr(helpers, "Gcf", None), "figs", None)
    if figures is not None and derives(type(figures), dict) and dict.__len__(figures):
        places = tuple(Assignable(figures, key, "", "entry") for key in list(dict.keys(figures)))
        before, pyplot = import_of("matplotlib.pyplot")
        yield Cut(
            "figures", f"{len(places)} open figures", f'{before}{pyplot}.close("all")', places
        )


def _errors(places: Iterable[Assignable]) -> Iterator[Cut]:
    errors = [place for place in places if derives(type(place.value), BaseException)]
    for group in _by_container(errors):
        what = f"{_named(group)}, with the frames of tracebacks"
        yield Cut("exception", what, dropped(group), tuple(group), _type(group))


def _graphs(places: Iterable[Assignable], frameworks: Frameworks) -> Iterator[Cut]:
    torch = frameworks.torch
    if torch is None:
        return
    tensors = [place for place in places if derives(type(place.value), torch.kind)]
    made = [place for place in tensors if torch.node(place.value) is not None]
    for group in _by_container(made):
        shown = sum(extent[0] for p in group if (extent := extents_of(p.value, frameworks)))
        what = f"{_named(group)}, with the backward graph"
        yield Cut("graph", what, mapped(group, "detach"), tuple(group), _type(group), shown)


def _views(places: Iterable[Assignable], frameworks: Frameworks) -> Iterator[Cut]:
    """Yield a cut for arrays and tensors that together show at most half of their memory."""
    groups: dict[tuple[int, int], list[tuple[Assignable, int]]] = {}
    for place in places:
        extent = extents_of(place.value, frameworks)
        if extent is not None and extent[1][1] >= NOTABLE:
            groups.setdefault(extent[1], []).append((place, extent[0]))
    small = [g for (_, size), g in groups.items() if 2 * sum(shown for _, shown in g) <= size]
    shows = {place.text: shown for views in small for place, shown in views}
    for group in _by_container([place for views in small for place, _ in views]):
        kept = sum(shows[place.text] for place in group)
        numpy = frameworks.numpy
        is_array = numpy is not None and derives(type(group[0].value), numpy.kind)
        statement = mapped(group, "copy" if is_array else "clone")
        yield Cut("view", _named(group), statement, tuple(group), _type(group), kept)


def _duplicates(places: Iterable[Assignable], frameworks: Frameworks) -> Iterator[Cut]:
    for equal in list(equal_places(places, frameworks, NOTABLE))[:_MOST_GROUPS]:
        source, *copies = equal
        group = copies if _fit(copies) else copies[:_MOST_TOLD]
        what = f"{len(group)} equal to {source.text}, if nothing writes to them"
        yield Cut("duplicates", what, shared(group, source), tuple(group), _type(group))


def _queues(places: Iterable[Assignable]) -> Iterator[Cut]:
    """Yield a cut for each of the longest queues; a thread that fills one keeps it alive, too."""
    queues = [(place.value, place.text) for place in places if type(place.value) is deque]
    for queue, text in sorted(queues, key=lambda told: -len(told[0]))[:_MOST_GROUPS]:
        entries = tuple(
            Assignable(queue, position, text, "entry") for position in range(len(queue))
        )
        what = f"{len(entries)} entries of {text}"
        yield Cut("variable", what, f"{text}.clear()", entries, "collections.deque")


def _fit(places: list[Assignable]) -> bool:
    return all(place.container is places[0].container for place in places)


def _by_container(places: Iterable[Assignable]) -> list[list[Assignable]]:
    """Return the largest groups of entries of one container; each name is a group of its own."""
    groups: dict[tuple[int, str, str], list[Assignable]] = {}
    for place in places:
        kind = qualified_name(type(place.value))
        own = "" if place.form == "entry" else place.text
        groups.setdefault((id(place.container), kind, own), []).append(place)
    largest = sorted(groups.values(), key=len, reverse=True)[: 2 * _MOST_GROUPS]
    return [g if len(g) == len(g[0].container) else g[:_MOST_TOLD] for g in largest]


def _named(places: list[Assignable]) -> str:
    return places[0].text if len(places) == 1 else f"{len(places)} entries of {places[0].holder}"


def _type(places: list[Assignable]) -> str:
    return qualified_name(type(places[0].value))


def _variables(main: dict[str, Any], make_graph: MakeGraph, told: set[str]) -> Iterator[Cut]:
    """Yield a cut for each of the main module's variables that retain the most."""
    names = [name for name in variables(main) if name not in told]
    for name in _largest(main, names, make_graph):
        places = (Assignable(main, name, "", "name"),)
        kind = qualified_name(type(main[name]))
        yield Cut("variable", name, f"del {name}", places, kind)


def _largest(main: dict[str, Any], names: list[str], make_graph: MakeGraph) -> list[str]:
    """Return the names that could release most; a share is never less than what a name retains."""
    with closing(walk_graph(make_graph, ())) as walked:
        graph = walked.graph
        nodes = {name: graph.find_at(id(main[name])) for name in names}
        known = [name for name, node in nodes.items() if node != NO_NODE]
        measured = graph.retained([([nodes[name]], True) for name in known])
    shares = {name: told.share for name, told in zip(known, measured, strict=True)}
    sizes = {name: share for name, share in shares.items() if share >= NOTABLE}
    return sorted(sizes, key=lambda name: -sizes[name])[:_MOST_VARIABLES]


def cached_functions() -> Iterator[tuple[str, object]]:
    """Yield how each cached function of the program is called, and the function.

    Caches of libraries are left out: they are small, and what the library needs is not known.
    """
    seen = set[int]()
    for module, item in list(sys.modules.items()):
        if type(module) is not str or not derives(type(item), ModuleType):
            continue
        names = module_namespace(item)
        file = names.get("__file__")
        if module != "__main__" and type(file) is str and is_library(file):
            continue
        for name, value in list(names.items()):
            if type(value) is LRU_CACHE and id(value) not in seen:
                seen.add(id(value))
                yield name if module == "__main__" else f"import {module}; {module}.{name}", value
