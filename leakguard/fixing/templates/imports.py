"""The import of a module that a changed source needs."""

from __future__ import annotations

import libcst as cst


def with_import(text: str, module: str) -> str:
    """Return the text with ``import module`` before its first import, if it is not there."""
    tree = cst.parse_module(text)
    for place, part in enumerate(tree.body):
        inner = part.body[0] if isinstance(part, cst.SimpleStatementLine) and part.body else None
        if isinstance(inner, cst.Import) and any(_imported(n) == module for n in inner.names):
            return text
        is_future = isinstance(inner, cst.ImportFrom) and _is_future(inner)
        if isinstance(inner, cst.Import | cst.ImportFrom) and not is_future:
            new = cst.parse_statement(f"import {module}\n", tree.config_for_parsing)
            lines = part.leading_lines if isinstance(part, cst.SimpleStatementLine) else ()
            moved = [new.with_changes(leading_lines=lines), part.with_changes(leading_lines=())]
            return tree.with_changes(
                body=[*tree.body[:place], *moved, *tree.body[place + 1 :]]
            ).code
    return f"import {module}\n{text}"


def _imported(name: cst.ImportAlias) -> str | None:
    plain = isinstance(name.name, cst.Name) and name.asname is None
    return str(name.name.value) if plain else None


def _is_future(statement: cst.ImportFrom) -> bool:
    return isinstance(statement.module, cst.Name) and statement.module.value == "__future__"
