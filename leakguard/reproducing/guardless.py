"""Takes the guard out of a program, because the test brings one of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leakguard.reproducing.names import last_name

_GUARD = "LeakGuard"
_ENDLESS = "range(1, 1_000_000)"  # what `guard.generations()` without an argument counts


def without_guard(tree: ast.Module) -> ast.Module:
    """Return a module without its guard; what a phase or the guard's loop does stays."""
    guards = set(_guards(tree))
    changed = _Removal(guards).visit(tree)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


def _guards(tree: ast.Module) -> Iterator[str]:
    """Yield the names to which a guard is assigned."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _makes_guard(node.value):
            yield from filter(None, map(last_name, node.targets))
        elif isinstance(node, ast.withitem) and _makes_guard(node.context_expr):
            yield last_name(node.optional_vars) or _GUARD


def _makes_guard(node: ast.AST) -> bool:
    """Return whether an expression is a guard that is made, as in ``LeakGuard(...).start()``."""
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Call):
            if last_name(node.func) == _GUARD:
                return True
            node = node.func
        else:
            node = node.value
    return False


class _Removal(ast.NodeTransformer):
    def __init__(self, guards: set[str]) -> None:
        self._guards = guards

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(getattr(node, "body", None), list) and not isinstance(node, ast.Module):
            node.body = node.body or [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        node.items = [each for each in node.items if not self._is_guard(each.context_expr)]
        return node if node.items else node.body

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if self._is_guard(node.value) else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if self._is_guard(node.value) else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [each for each in node.decorator_list if not self._is_guard(each)]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if last_name(node.func) == "generations" and self._is_guard(node):
            return node.args[0] if node.args else ast.parse(_ENDLESS, mode="eval").body
        return node

    def _is_guard(self, node: ast.AST) -> bool:
        """Return whether an expression is the guard, a part of it, or a call of it."""
        if _makes_guard(node):
            return True
        while isinstance(node, ast.Call | ast.Attribute):
            if isinstance(node, ast.Attribute) and node.attr in self._guards:
                return True
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id in self._guards
