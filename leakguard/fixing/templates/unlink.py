"""Cuts a chain of instances, each of which keeps the one before it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Source


def unlink(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Set the link of the previous instance to None when the next one refers to it."""
    if not clue.chain or clue.name is None:
        return
    for statement in source.statements():
        for target, value in _assigned(statement.body[0]):
            is_link = isinstance(target, cst.Attribute) and target.attr.value == clue.name
            if is_link and isinstance(value, cst.Name) and value.value not in ("None", "self"):
                text = f"if {value.value} is not None:\n    {value.value}.{clue.name} = None\n"
                after = source.replaced({statement: [statement, *source.parsed(text)]})
                yield f"keep one link only: {value.value}.{clue.name} = None", after


def _assigned(
    part: cst.BaseSmallStatement,
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Yield each target of an assignment with its value, also of ``a, b = x, y``."""
    if not isinstance(part, cst.Assign):
        return
    target, value = part.targets[0].target, part.value
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        for one, other in zip(target.elements, value.elements, strict=False):
            yield one.value, other.value
    else:
        yield target, value
