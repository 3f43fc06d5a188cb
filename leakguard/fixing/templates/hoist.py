"""Makes an object once, before the loop that made one per round."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Loop, Source, last_name

# Nodes that bind the names in their target.
_BINDING = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr)


def hoist(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Move ``name = Type(...)`` out of a loop, if its arguments do not depend on the round."""
    for line in clue.lines:
        statement = source.statement_at(line.number)
        if statement is None or not source.path.endswith(line.file.rpartition("/")[2]):
            continue
        part, loop = statement.body[0], source.loop_of(statement)
        if loop is None or not isinstance(part, cst.Assign) or not isinstance(part.value, cst.Call):
            continue
        if not (last_name(part.value.func) or "").strip("_")[:1].isupper():
            continue  # only a class makes a new object for sure
        used = {n.value for n in source.nodes(part.value) if isinstance(n, cst.Name)}
        if len(part.targets) == 1 and not used & set(_bound_in(source, loop)):
            bare = statement.with_changes(leading_lines=())
            before = [bare.with_changes(leading_lines=loop.leading_lines)]
            moved = loop.with_changes(leading_lines=(), body=_without(loop, statement))
            if moved.body is not loop.body:
                yield (
                    f"make it once: {source.code(statement)}",
                    source.replaced({loop: [*before, moved]}),
                )


def _bound_in(source: Source, loop: Loop) -> Iterator[str]:
    """Yield the names that a loop assigns."""
    targets: list[cst.CSTNode] = [loop.target] if isinstance(loop, cst.For) else []
    for node in source.nodes(loop):
        if isinstance(node, _BINDING):
            targets.append(node.target)
        elif isinstance(node, cst.AsName):
            targets.append(node.name)
    for target in targets:
        yield from (n.value for n in source.nodes(target) if isinstance(n, cst.Name))


def _without(loop: Loop, statement: cst.CSTNode) -> cst.BaseSuite:
    """Return the body of a loop without one of its own statements."""
    left = [part for part in loop.body.body if part is not statement]
    if len(left) == len(loop.body.body) or not left:
        return loop.body
    return loop.body.with_changes(body=left)
