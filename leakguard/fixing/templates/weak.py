"""Holds entries, or the object that made another, by weak references."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Source, last_name
from leakguard.fixing.templates.imports import with_import

_WEAK = {"set": "weakref.WeakSet()", "dict": "weakref.WeakValueDictionary()"}
# Objects of builtin types cannot be referenced weakly.
_BUILTIN = ("list", "dict", "tuple", "str", "int", "float", "bytes", "bytearray", "set")


def weak(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Make an empty set or dict of instances a weak one; make a cycle's way back a proxy."""
    if clue.kind == "cycles":
        yield from _proxies(clue, source)
        return
    kind = (clue.container or "").rpartition(".")[2]
    if kind not in _WEAK or clue.short_type in _BUILTIN or clue.kind != "instances":
        return
    for statement in source.statements():
        part = statement.body[0]
        if isinstance(part, cst.Assign):
            target, value = part.targets[0].target, part.value
        elif isinstance(part, cst.AnnAssign) and part.value is not None:
            target, value = part.target, part.value
        else:
            continue
        if last_name(target) == clue.name and source.code(value) in ("set()", "{}", "dict()"):
            new = source.replaced({value: cst.parse_expression(_WEAK[kind])})
            yield f"hold the entries of {clue.name} weakly", with_import(new, "weakref")


def _proxies(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    for statement in source.statements():
        part = statement.body[0]
        target = part.targets[0].target if isinstance(part, cst.Assign) else None
        if not isinstance(target, cst.Attribute) or not isinstance(part, cst.Assign):
            continue
        if source.code(part.value) == "self" and target.attr.value in clue.names:
            new = source.replaced({part.value: cst.parse_expression("weakref.proxy(self)")})
            yield f"refer back weakly: {source.code(target)}", with_import(new, "weakref")
