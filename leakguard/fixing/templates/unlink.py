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
        part = statement.body[0]
        if not isinstance(part, cst.Assign):
            continue
        target, value = part.targets[0].target, part.value
        if not isinstance(target, cst.Attribute) or target.attr.value != clue.name:
            continue
        if isinstance(value, cst.Name) and value.value not in ("None", "self"):
            text = f"if {value.value} is not None:\n    {value.value}.{clue.name} = None\n"
            after = source.replaced({statement: [statement, *source.parsed(text)]})
            yield f"keep one link only: {value.value}.{clue.name} = None", after
