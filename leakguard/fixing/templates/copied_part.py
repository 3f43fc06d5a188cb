"""Copies the part of an array or a tensor that is kept, so that the whole is not."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Source


def copied_part(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Put ``.copy()``, or ``.clone()`` for a tensor, on what is kept of an array."""
    if clue.name is None or not (clue.views or clue.kind in ("arrays", "tensors")):
        return
    way = "clone" if clue.type.startswith("torch.") else "copy"
    for added in source.additions(clue.name):
        is_part = isinstance(added.value, cst.Subscript)
        if added.value is not None and (is_part or (clue.views and _is_variable(added.value))):
            text = f"{source.code(added.value)}.{way}()"
            after = source.replaced({added.value: cst.parse_expression(text)})
            yield f"keep {text}: a part keeps the whole that it was cut from", after


def _is_variable(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Name | cst.Attribute)
