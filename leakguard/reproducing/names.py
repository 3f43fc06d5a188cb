"""The names that statements bind and use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def used(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are read anywhere in some nodes, also in functions."""
    return {name for node in nodes for part in ast.walk(node) for name in _read_by(part)}


def free(node: ast.AST) -> set[str]:
    """Return the names that a function, class or other node takes from the scope around it."""
    names = {name for part in own_scope(node) for name in _read_by(part)}
    for part in own_scope(node):
        if part is not node and isinstance(part, (*_SCOPES, *_COMPREHENSIONS)):
            names |= free(part)
    if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
        return names
    below = list(ast.iter_child_nodes(node))
    inside = set().union(*(free(part) for part in below))
    own = {name for part in below for each in own_scope(part) for name in _bound_by(each)}
    declared = {name for part in below for each in own_scope(part) for name in _declared(each)}
    parameters = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    return inside - ((own | parameters) - declared)


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind in their own scope, not those inside of functions."""
    return {name for node in nodes for part in own_scope(node) for name in _bound_by(part)}


def own_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is below it, but nothing of another scope that it opens."""
    yield node
    if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
        return
    for child in ast.iter_child_nodes(node):
        yield from own_scope(child)


def has_loop(nodes: Iterable[ast.AST]) -> bool:
    """Return whether a loop statement is among some statements, not counting functions."""
    return any(isinstance(part, Loop) for node in nodes for part in own_scope(node))


def covers(node: ast.stmt, line: int) -> bool:
    """Return whether a line of the text belongs to a statement."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def last_name(node: ast.AST | None) -> str | None:
    """Return the name of a variable, or the attribute's name; None for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def required(function: Function, *, is_method: bool = False) -> list[str]:
    """Return the parameters of a function without a default."""
    given = function.args
    positional = [each.arg for each in (*given.posonlyargs, *given.args)]
    without = positional[: len(positional) - len(given.defaults)][int(is_method) :]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [*without, *(each.arg for each, default in named if default is None)]


def _read_by(node: ast.AST) -> Iterator[str]:
    """Yield the name that a node reads, also that of ``name += 1``, which counts as bound, too."""
    if isinstance(node, ast.Name) and not _is_store(node):
        yield node.id
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _declared(node: ast.AST) -> list[str]:
    return node.names if isinstance(node, ast.Global) else []


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and _is_store(node):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
