"""The end of what a statement begins: the rest of its block in ``try``, the end in ``finally``."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from leakguard.fixing.source import Source


def ended(
    source: Source, statement: cst.BaseStatement, new: Sequence[cst.CSTNode], end: str
) -> str | None:
    """Return the text in which ``end`` follows the rest of the block of ``statement``.

    Args:
        source: the file.
        statement: what begins, in a block of its own function.
        new: what replaces the statement.
        end: the statements of ``finally``.

    Returns:
        the whole text; None if the rest is empty or only returns, because what was begun is then
        used by the caller.
    """
    block = source.parent(statement)
    rest = source.rest_of_block(statement)
    if not rest or not isinstance(block, cst.IndentedBlock) or _only_returns(rest):
        return None
    wrapped = source.parsed(f"try:\n    pass\nfinally:\n{_indented(end)}")[0]
    assert isinstance(wrapped, cst.Try)
    first = rest[0]
    body = cst.IndentedBlock(body=list(rest), footer=block.footer)
    blank = [line for line in getattr(first, "leading_lines", ()) if line.comment is None]
    wrapped = wrapped.with_changes(body=body, leading_lines=blank)
    if blank:
        kept = [line for line in getattr(first, "leading_lines", ()) if line.comment is not None]
        body = body.with_changes(body=[first.with_changes(leading_lines=kept), *rest[1:]])
        wrapped = wrapped.with_changes(body=body)
    place = list(block.body).index(statement)
    changed = block.with_changes(body=[*block.body[:place], *new, wrapped], footer=())
    return source.replaced({block: changed})


def _only_returns(rest: Sequence[cst.BaseStatement]) -> bool:
    last = rest[0]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[0], cst.Return)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
