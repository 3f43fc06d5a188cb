"""The rules of the judgement, read from its code, and each way in which one can be another.

A *number* stands under a name in capitals; it is halved and doubled. A *sign* is a function that
answers yes or no; it is made to say no always, and yes always. A *finder* is a function that may
answer None; it is made to answer None always. An *entry* of a table of functions or cases (a
source, a step of the settlement, a claim, a sign of a holder) is left out.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import leakguard.analysis

PACKAGE = "leakguard.analysis"
#: What decides nothing: values, and the sentences that are made of them.
_TOLD = (f"{PACKAGE}.facts", f"{PACKAGE}.words")
FACTORS = {"halved": 0.5, "doubled": 2.0}
#: How a finder is another.
NOTHING = "finds nothing"
#: How a table is another.
ENTRY = "entry left out"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Change:
    """One way in which one rule is another than it is.

    Attributes:
        module: the module that has the rule.
        rule: its name in there.
        how: halved, doubled, never, always, :data:`NOTHING`, or :data:`ENTRY`.
        value: what stands in its place; None for what is left out.
    """

    module: str
    rule: str
    how: str
    value: Any = None

    @property
    def name(self) -> str:
        """Module and rule, as a reader looks for them below ``leakguard/analysis``."""
        return f"{self.module.removeprefix(PACKAGE + '.')}.{self.rule}"

    def made_in(self, tree: ast.Module) -> None:
        """Make the change in the code of its module."""
        if self.how in FACTORS:
            _set_number(tree, self.rule, self.value)
        elif self.how == NOTHING:
            dict(finders(tree))[self.rule].body = [ast.Return(ast.Constant(None))]
        elif self.how in ("never", "always"):
            dict(signs(tree))[self.rule].body = [ast.Return(ast.Constant(self.value))]
        else:
            _leave_out_entry(tree, self.rule)


def changes() -> list[Change]:
    """Return every change of every rule; those that have to be tried on every run come last."""
    found = [change for name, tree in _modules() for change in _changes_in(name, tree)]
    return sorted(found, key=lambda change: change.how == ENTRY)


def _changes_in(module: str, tree: ast.Module) -> Iterator[Change]:
    values = vars(importlib.import_module(module))
    for _, name in numbers(tree):
        value = values[name]
        if isinstance(value, int | float) and not isinstance(value, bool):
            for how, factor in FACTORS.items():
                other = scaled(value, factor)
                if other != value:
                    yield Change(module, name, how, other)
    for name, _ in signs(tree):
        yield Change(module, name, "never", False)
        yield Change(module, name, "always", True)
    for name, _ in finders(tree):
        yield Change(module, name, NOTHING)
    for name, table in _tables(tree):
        yield from (Change(module, f"{name}[{i}]", ENTRY) for i in range(len(table.elts)))


def scaled(value: float, factor: float) -> float:
    """Return the number to try; a count stays a whole number of at least one."""
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def numbers(tree: ast.Module) -> Iterator[tuple[ast.Assign, str]]:
    """Yield each assignment with each name in capitals that it gives something."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                named = (each for each in ast.walk(target) if isinstance(each, ast.Name))
                yield from ((node, each.id) for each in named if each.id.isupper())


def signs(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    """Yield each function that answers with a bool, with its name and its class's."""
    yield from ((name, one) for name, one in _functions(tree) if _answers(one) == "bool")


def finders(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    """Yield each function that may answer None, with its name and its class's."""
    yield from ((name, one) for name, one in _functions(tree) if _answers(one).endswith("| None"))


def _functions(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    for node in tree.body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, _Function):
                owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                yield f"{owner}{function.name}", function


def _answers(function: _Function) -> str:
    return "" if function.returns is None else ast.unparse(function.returns)


def _modules() -> Iterator[tuple[str, ast.Module]]:
    names = pkgutil.walk_packages(leakguard.analysis.__path__, f"{PACKAGE}.")
    for found in (found for found in names if not found.name.startswith(_TOLD)):
        file = Path(str(importlib.import_module(found.name).__file__))
        yield found.name, ast.parse(file.read_text(encoding="utf-8"))


def _set_number(tree: ast.Module, name: str, value: float) -> None:
    node = {named: node for node, named in numbers(tree)}[name]
    tree.body.insert(tree.body.index(node) + 1, ast.parse(f"{name} = {value!r}").body[0])


def _tables(tree: ast.Module) -> Iterator[tuple[str, ast.Tuple]]:
    """Yield each tuple of functions, or of values that are made by calls, under a name."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Tuple):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            entries = node.value.elts
            rules = all(isinstance(entry, ast.Call | ast.Name) for entry in entries)
            if isinstance(target, ast.Name) and len(entries) > 1 and rules:
                yield target.id, node.value


def _leave_out_entry(tree: ast.Module, rule: str) -> None:
    name, _, place = rule.rstrip("]").partition("[")
    dict(_tables(tree))[name].elts.pop(int(place))
