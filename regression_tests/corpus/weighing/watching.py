"""What each report could depend on: the judgement is run once with every rule watched.

Numbers are put in doubt; signs and finders note what they answer. A change that is not noted for a
run leaves that run's report as it is; only the others have to be tried.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable
from typing import Any

from leakguard.model import Run
from regression_tests.corpus.weighing import doubt
from regression_tests.corpus.weighing.loading import Diagnose, diagnose_with
from regression_tests.corpus.weighing.rules import (
    FACTORS,
    NOTHING,
    PACKAGE,
    finders,
    numbers,
    scaled,
    signs,
)

#: Module, rule and how it is changed.
Watched = tuple[str, str, str]

_HERE = "watching_"  # what this module is called in the code that it watches
_IMPORT = f"import {__name__} as {_HERE}"


def number(module: str, name: str, value: Any) -> Any:
    """Put a number in doubt; anything else under such a name stays as it is."""
    plain = value.value if isinstance(value, doubt.Doubt) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        return value
    inherited = value.others if isinstance(value, doubt.Doubt) else {}
    own = {(module, name, how): scaled(plain, factor) for how, factor in FACTORS.items()}
    return doubt.Doubt(plain, {**inherited, **{k: v for k, v in own.items() if v != plain}})


def sign(module: str, name: str) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Make a function note what it answers: each answer is what the other change would forbid."""

    def watched(function: Callable[..., bool]) -> Callable[..., bool]:
        @functools.wraps(function)
        def asked(*given: Any, **named: Any) -> bool:
            answer = function(*given, **named)
            doubt.noted.add((module, name, "never" if answer else "always"))
            return answer

        return asked

    return watched


def finder(module: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function note that it found something."""

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def asked(*given: Any, **named: Any) -> Any:
            found = function(*given, **named)
            if found is not None:
                doubt.noted.add((module, name, NOTHING))
            return found

        return asked

    return watched


def rewrite(module: str, tree: ast.Module) -> None:
    """Put every number of a module in doubt, and watch its signs and finders."""
    for kind, functions in (("sign", signs(tree)), ("finder", finders(tree))):
        for name, function in list(functions):
            watch = f"{_HERE}.{kind}({module!r}, {name!r})"
            function.decorator_list.append(ast.parse(watch, mode="eval").body)
    for node, name in list(numbers(tree)):
        line = f"{name} = {_HERE}.number({module!r}, {name!r}, {name})"
        tree.body.insert(tree.body.index(node) + 1, ast.parse(line).body[0])
    first = 1 + max((i for i, node in enumerate(tree.body) if _is_import(node)), default=0)
    imported = [_IMPORT, f"math = {_HERE}.math"] if _has_math(tree) else [_IMPORT]
    tree.body[first:first] = ast.parse("\n".join(imported)).body


math = doubt.Math()


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _has_math(tree: ast.Module) -> bool:
    return any(isinstance(n, ast.Import) and n.names[0].name == "math" for n in tree.body)


class Watcher:
    """Runs the watched judgement; of a process, there is one."""

    def __init__(self) -> None:
        self._diagnose: Diagnose = diagnose_with(rewrite)
        modules = [module for name, module in sys.modules.items() if name.startswith(PACKAGE)]
        found = [value for module in modules for value in vars(module).values()]
        self._caches = [value.cache_clear for value in found if hasattr(value, "cache_clear")]

    def depends_on(self, run: Run) -> frozenset[Watched]:
        """Return each change that the report about a run could depend on.

        What a cache remembers from another run would not be noted again: caches are emptied.
        """
        for clear in self._caches:
            clear()
        doubt.noted.clear()
        self._diagnose(run)
        return frozenset(doubt.noted)
