"""Keeps numbers or tensors without their graph."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Source, last_name

# Names of values that are single numbers in most programs.
_NUMBERS = ("loss", "total", "error", "reward", "score", "metric", "accuracy", "norm", "value",
            "entropy", "kl", "penalty", "gap")  # fmt: skip


def detach(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Put ``.item()`` or ``.detach()`` on a tensor where it is kept, summed up or carried over."""
    if clue.name is None or not (clue.graphs or clue.kind in ("tensors", "autograd")):
        return
    for value in _kept_values(clue.name, source):
        ways = ["item", "detach"] if _is_number(source, value) else ["detach"]
        for way in ways if clue.graphs else [w for w in ways if w == "item"]:
            tensor = source.code(value)
            simple = isinstance(value, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
            text = f"{tensor}.{way}()" if simple else f"({tensor}).{way}()"
            after = source.replaced({value: cst.parse_expression(text)})
            yield f"keep {text}, which has no graph", after


def _kept_values(name: str, source: Source) -> Iterator[cst.BaseExpression]:
    for added in source.additions(name):
        if added.value is not None:
            yield from _parts(added.value)
    for statement in source.statements():
        part = statement.body[0]
        if isinstance(part, cst.Assign) and last_name(part.targets[0].target) == name:
            yield from _parts(part.value)


def _parts(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield what is kept: the value itself, or each part of a tuple, list or dict."""
    if isinstance(value, cst.Tuple | cst.List):
        for part in value.elements:
            yield from _parts(part.value)
    elif isinstance(value, cst.Dict):
        for entry in value.elements:
            if isinstance(entry, cst.DictElement):
                yield from _parts(entry.value)
    elif not isinstance(value, cst.BaseNumber | cst.BaseString) and not _is_plain(value):
        yield value


def _is_plain(value: cst.BaseExpression) -> bool:
    """Return whether a value is a number or a constant already."""
    if isinstance(value, cst.Name):
        return value.value in ("None", "True", "False")
    if not isinstance(value, cst.Call):
        return False
    return last_name(value.func) in ("item", "detach", "float", "int", "str", "tolist", "len")


def _is_number(source: Source, value: cst.BaseExpression) -> bool:
    return any(word in source.code(value).lower() for word in _NUMBERS)
