"""Places below the main module to which a statement can assign: names, entries and attributes."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Literal

from leakguard.capture.heap.attributes import instance_dict
from leakguard.capture.heap.classes import (
    HEAP_TYPE,
    LRU_CACHE,
    derives,
    flags,
    from_library,
    from_standard_library,
    module_namespace,
)

# Names under which IPython keeps results of cells, and IPython's own names, which are no variables
# of the user.
RESULTS = re.compile(r"_{1,3}|_\d+|_oh|Out")
_OF_SHELL = re.compile(r"In|_ih|_i{1,3}|_i\d+|_dh|exit|quit|get_ipython|open")
_DEFINITIONS = (type, ModuleType, FunctionType, BuiltinFunctionType, LRU_CACHE)
_SEQUENCES = (list, deque)
# What is never worth a statement of its own.
_SMALL = frozenset(map(id, (str, bytes, int, float, complex, bool, type(None))))
# Chosen: what a person can read in one statement, and entries enough for a list of batches.
_DEEPEST, _MOST_ENTRIES, _MOST_PLACES, _LONGEST_KEY = 4, 2_000, 20_000, 40


@dataclass(frozen=True, slots=True)
class Assignable:
    """One reference that the program can assign to, and how it is written.

    Attributes:
        container: the dict, list or deque that has the reference.
        holder: how what the container belongs to is written; empty for the main module.
    """

    container: Any
    key: Any
    holder: str
    form: Literal["name", "entry", "attribute"]

    @property
    def value(self) -> Any:
        """What the place refers to now."""
        if type(self.container) in _SEQUENCES:
            return self.container[self.key]
        return dict.__getitem__(self.container, self.key)

    @property
    def text(self) -> str:
        """The place as it is written in a statement."""
        if self.form == "name":
            return str(self.key)
        return (
            f"{self.holder}[{self.key!r}]" if self.form == "entry" else f"{self.holder}.{self.key}"
        )

    def put(self, value: object) -> None:
        """Refer to another object; no method of a subclass runs, and the order of keys stays."""
        if type(self.container) in _SEQUENCES:
            self.container[self.key] = value
        else:
            dict.__setitem__(self.container, self.key, value)


def main_namespace() -> dict[str, Any]:
    """Return the namespace of the program's main module."""
    return module_namespace(sys.modules["__main__"])


def variables(main: dict[str, Any]) -> list[str]:
    """Return the names of the main module that are neither definitions nor the shell's own."""
    return [name for name in list(main) if type(name) is str and _is_variable(name, main[name])]


def places_below(main: dict[str, Any]) -> list[Assignable]:
    """Return the places that variables lead to through lists, dicts and instances.

    Each container is entered once, by the shortest way. Tuples, sets and instances of libraries
    are not entered, because no plain assignment changes them.
    """
    found: list[Assignable] = []
    seen: set[int] = {id(main)}
    waiting = deque((Assignable(main, name, "", "name"), 0) for name in variables(main))
    while waiting and len(found) < _MOST_PLACES:
        place, depth = waiting.popleft()
        value = place.value
        if id(type(value)) in _SMALL:
            continue
        found.append(place)
        if depth < _DEEPEST and id(value) not in seen:
            seen.add(id(value))
            waiting.extend((below, depth + 1) for below in _inside(value, place.text))
    return found


def _inside(value: Any, text: str) -> Iterator[Assignable]:
    cls = type(value)
    if cls is list:
        for position in range(min(len(value), _MOST_ENTRIES)):
            yield Assignable(value, position, text, "entry")
    elif cls is dict:
        for key in _plain_keys(value):
            if type(key) is int or len(key) <= _LONGEST_KEY:
                yield Assignable(value, key, text, "entry")
    elif _is_entered(cls):
        attributes = instance_dict(value) or {}
        for key in _plain_keys(attributes):
            if type(key) is str and key.isidentifier():
                yield Assignable(attributes, key, text, "attribute")


def _plain_keys(entries: dict[Any, Any]) -> list[Any]:
    """Return the first keys; none if one is no plain number or text, as its ``==`` may run."""
    keys = list(entries)
    is_plain = all(type(key) is str or type(key) is int for key in keys)
    return keys[:_MOST_ENTRIES] if is_plain else []


def _is_entered(cls: type) -> bool:
    """Return whether instances are those of a Python class of the program, or such as ``Queue``."""
    if not flags(cls) & HEAP_TYPE or derives(cls, type):
        return False
    return from_standard_library(cls) or not from_library(cls)


def _is_variable(name: str, value: object) -> bool:
    hidden = name.startswith("__") or RESULTS.fullmatch(name) or _OF_SHELL.fullmatch(name)
    return not hidden and not any(derives(type(value), kind) for kind in _DEFINITIONS)


def fills(places: Sequence[Assignable]) -> bool:
    """Return whether the places are all entries of one list or dict with several of them."""
    first = places[0]
    alike = all(p.container is first.container and p.form == "entry" for p in places)
    return alike and 1 < len(places) == len(first.container)


def mapped(places: Sequence[Assignable], method: str) -> str:
    """Return the statement that replaces what the places refer to by what a method returns."""
    first = places[0]
    if not fills(places):
        return "; ".join(f"{place.text} = {place.text}.{method}()" for place in places)
    if type(first.container) is list:
        return f"{first.holder}[:] = [entry.{method}() for entry in {first.holder}]"
    new = f"{{key: entry.{method}() for key, entry in {first.holder}.items()}}"
    return f"{first.holder}.update({new})"


def dropped(places: Sequence[Assignable]) -> str:
    """Return the statement that drops what the places refer to."""
    if fills(places):
        return f"{places[0].holder}.clear()"
    names = [place.text for place in places if place.form == "name"]
    others = [f"{place.text} = None" for place in places if place.form != "name"]
    return "; ".join([f"del {', '.join(names)}"] * bool(names) + others)


def shared(places: Sequence[Assignable], source: Assignable) -> str:
    """Return the statement that makes the places refer to what ``source`` refers to."""
    first, all_of_them = places[0], list(places)
    if source.container is first.container:
        all_of_them.append(source)
    if fills(all_of_them) and type(first.container) is list:
        return f"{first.holder}[:] = [{source.text}] * {len(first.container)}"
    return " = ".join([*(place.text for place in places), source.text])
