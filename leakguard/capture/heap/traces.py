"""Leak traces: the path from a root to an object, and the stable name of a container on it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextvars import Context
from itertools import pairwise
from types import CellType, FunctionType
from typing import Any, NamedTuple, Protocol

from leakguard.capture.heap.classes import (
    HEAP_TYPE,
    derives,
    flags,
    from_standard_library,
    module_of,
    qualified_name,
)
from leakguard.capture.heap.graph import MAX_RECORD
from leakguard.capture.heap.half_built import entries_of, is_blank
from leakguard.capture.heap.hops import hop_name
from leakguard.model.holder import ELEMENT, Hop

_VARIABLE = "context variable "
# Modules whose globals lead to the running event loop, and to all that it waits for.
_EVENT_LOOPS = frozenset({"_asyncio", "asyncio", "asyncio.events", "asyncio.tasks"})
# Of a longer trace, only the first _LONGEST_TRACE and the last _TAIL hops are shown.
_LONGEST_TRACE = 60
_TAIL = 12


class TraceNodes(Protocol):
    """The parts of a graph that are read here."""

    def chain_to(self, node: int) -> Sequence[int]: ...
    def object_at(self, node: int) -> Any: ...
    def kind_of(self, node: int) -> int: ...
    def path_of(self, node: int) -> int: ...
    def root_name(self, node: int) -> str: ...
    def is_namespace_root(self, node: int) -> bool: ...
    def is_alone(self, node: int) -> bool: ...


class Step(NamedTuple):
    """One object on the path, with the name of the reference to it from the previous object.

    ``stable`` is that name without the keys of large dicts, which change from run to run.
    """

    name: str
    item: Any
    stable: str


def trace_to(graph: TraceNodes, node: int) -> tuple[Hop, ...]:
    """Return the hops from the root to a node; a series of equal hops is shortened."""
    return tuple(Hop(step.name, qualified_name(type(step.item))) for step in steps_to(graph, node))


def onward_to(graph: TraceNodes, ends: Sequence[int], path: int) -> tuple[Hop, ...]:
    """Return the hops from an entry of a holder to an object that the entry leads to.

    ``path`` is that of the holder. The object is the first of ``ends`` that lies below an entry.
    The result is empty if every end is an entry itself, or lies elsewhere.
    """
    for end in ends:
        chain = graph.chain_to(end)
        holders = (i for i, node in enumerate(chain) if graph.path_of(node) == path)
        entry = next(holders, len(chain)) + 1
        if entry < len(chain) - 1:
            first = Step(ELEMENT, graph.object_at(chain[entry]), ELEMENT)
            steps = steps_along(graph, chain[entry:], first)[1:]
            return tuple(Hop(step.name, qualified_name(type(step.item))) for step in steps)
    return ()


def stable_name(graph: TraceNodes, node: int) -> str:
    """Return a name of an object that does not depend on addresses, line numbers or the run.

    For an object that is reached from a module, the name is the whole path
    (``__main__.trainer.loss_history``). For one that is reached from a running function or a
    thread, the name begins at the first instance of a class of the program
    (``package.Trainer.loss_history``), if there is one. So it does for one that is reached from an
    event loop, if the instance is not one of many tasks or callbacks; a context variable is a
    beginning as well.
    """
    steps = steps_to(graph, node)
    first = next((i for i, step in enumerate(steps) if _may_begin(step)), None)
    chain = graph.chain_to(node)
    passing = not graph.is_namespace_root(chain[0]) or graph.root_name(chain[0]) == "threading"
    if first is not None and graph.root_name(chain[0]) in _EVENT_LOOPS:
        found = (at for at in chain if graph.object_at(at) is steps[first].item)
        passing = graph.is_alone(next(found))
    if passing and first is not None and first < len(steps) - 1:
        is_variable = steps[first].name.startswith(_VARIABLE)
        anchor = steps[first].name if is_variable else qualified_name(type(steps[first].item))
        return _joined([anchor, *(step.stable for step in steps[first + 1 :])])
    return _joined([step.stable for step in steps])


def _may_begin(step: Step) -> bool:
    return step.name.startswith(_VARIABLE) or is_program_class(type(step.item))


def name_along(graph: TraceNodes, chain: Sequence[int], start: str) -> str:
    """Return the name of the last node of a chain whose first node is named ``start``."""
    steps = steps_along(graph, chain, Step(start, graph.object_at(chain[0]), start))
    return _joined([step.stable for step in steps])


def steps_to(graph: TraceNodes, node: int) -> list[Step]:
    """Return the named steps to a node, with namespaces and closures named as in source code."""
    chain = list(graph.chain_to(node))
    if len(chain) > _LONGEST_TRACE + _TAIL:
        chain = chain[:_LONGEST_TRACE] + chain[-_TAIL:]
    name = graph.root_name(chain[0])
    first = Step(name, graph.object_at(chain[0]), name)
    return steps_along(graph, chain, first, through_namespace=graph.is_namespace_root(chain[0]))


def steps_along(
    graph: TraceNodes, chain: Sequence[int], first: Step, *, through_namespace: bool = False
) -> list[Step]:
    """Return the named steps down a chain of nodes that begins with ``first``."""
    steps = [first]
    local_values, variables = None, _variables_on(graph, chain)
    for above, below in pairwise(chain):
        holder, held = graph.object_at(above), graph.object_at(below)
        if below in variables:
            name = variables[below]
        elif derives(type(holder), threading.local) and type(held) is dict:
            local_values, name = held, ""
        elif holder is local_values:  # the values of one thread; which thread is not shown
            name = ""
        else:
            name = hop_name(holder, held, graph.kind_of(above))
        if through_namespace and name.startswith("['"):
            name = f".{name[2:-2]}"
        through_namespace = name == ""
        steps.append(Step(name, held, ELEMENT if _is_passing_key(name, holder) else name))
    return _without_repeats(_readable(steps))


def _variables_on(graph: TraceNodes, chain: Sequence[int]) -> dict[int, str]:
    """Return the names of the steps from a context to the value of a variable, by their nodes.

    Between the two lie nodes of a tree, without a name.
    """
    names: dict[int, str] = {}
    for at, node in enumerate(chain):
        context = graph.object_at(node)
        if type(context) is not Context or is_blank(context):
            continue
        values = {id(value): variable.name for variable, value in context.items()}
        inside = list(chain[at + 1 :])
        found = (i for i, below in enumerate(inside) if id(graph.object_at(below)) in values)
        value = next(found, None)
        if value is not None:
            names |= dict.fromkeys(inside[:value], "")
            names[inside[value]] = f"{_VARIABLE}{values[id(graph.object_at(inside[value]))]}"
    return names


def _is_passing_key(name: str, holder: Any) -> bool:
    """Return whether a name is the key of one of many entries of a dict, not a field's name."""
    if not name.startswith("[") or not derives(type(holder), dict):
        return False
    if dict.__len__(holder) > MAX_RECORD:
        return True
    return any(type(key) is not str for key, _ in entries_of(holder))


def _readable(steps: list[Step]) -> list[Step]:
    """Rename closure cells and defaults of functions by their meaning; drop unnamed steps."""
    told: list[Step] = []
    for position, step in enumerate(steps):
        function = _function_behind(steps, position)
        if function is not None:
            told.append(Step(function, step.item, function))
        elif step.name and step.name not in (".__closure__", ".__defaults__", ".__kwdefaults__"):
            told.append(step)
    return [step for i, step in enumerate(told) if not _is_empty_cell(told, i)]


def _is_empty_cell(told: list[Step], position: int) -> bool:
    return type(told[position].item) is CellType and position + 1 < len(told)


def _function_behind(steps: list[Step], position: int) -> str | None:
    """Return ``closure cell x of f`` or ``default argument x of f`` for such a step; else None."""
    for back, tell in ((3, _closure_cell), (2, _default)):
        if position >= back and type(steps[position - back].item) is FunctionType:
            told = tell(steps[position - back].item, steps[position - back + 1 : position + 1])
            if told is not None:
                return told
    return None


def _closure_cell(function: FunctionType, path: list[Step]) -> str | None:
    container, cell, _ = path
    if container.name != ".__closure__":
        return None
    names = function.__code__.co_freevars
    cells = zip(names, function.__closure__ or (), strict=False)
    name = next((name for name, entry in cells if entry is cell.item), "?")
    return f"closure cell {name} of {function.__qualname__}"


def _default(function: FunctionType, path: list[Step]) -> str | None:
    container, value = path
    code, defaults = function.__code__, function.__defaults__ or ()
    if container.name == ".__kwdefaults__":
        return f"default argument {value.name.strip('[]')!s} of {function.__qualname__}".replace(
            "'", ""
        )
    if container.name != ".__defaults__":
        return None
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    name = next((n for n, d in zip(names, defaults, strict=False) if d is value.item), "?")
    return f"default argument {name} of {function.__qualname__}"


def _without_repeats(steps: list[Step]) -> list[Step]:
    """Shorten a chain of equal steps (``.next.next.next``) to its first and its last step."""
    kept: list[Step] = []
    for step in steps:
        if len(kept) >= 2 and _goes_on(step, *kept[-2:]):
            kept[-1] = step
        else:
            kept.append(step)
    return kept


def _goes_on(step: Step, one: Step, two: Step) -> bool:
    """Return whether a step is the third equal one; nested lists are levels, not a chain."""
    if step.name != ELEMENT:
        return step.name == one.name == two.name
    cls = type(step.item)
    is_level = any(cls is builtin for builtin in (list, tuple, dict))
    return not is_level and all(s.name == ELEMENT and type(s.item) is cls for s in (one, two))


def is_program_class(cls: type) -> bool:
    """Return whether a class is one of Python outside the standard library, and no metaclass."""
    is_instance = bool(flags(cls) & HEAP_TYPE) and not derives(cls, type)
    return is_instance and (module_of(cls) == "__main__" or not from_standard_library(cls))


def _joined(names: Sequence[str]) -> str:
    text = ""
    for name in names:
        follows = name.startswith((".", "["))
        text += name if follows or not text else f" → {name}"
    return text
