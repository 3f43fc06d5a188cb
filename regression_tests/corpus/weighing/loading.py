"""Loads the judgement with other code than it has, in a process of its own."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from leakguard.model import Report, Run
from regression_tests.corpus.weighing.rules import PACKAGE

Diagnose = Callable[[Run], Report]
#: Makes other code of a module's: its name, and its syntax tree, which is changed in place.
Rewrite = Callable[[str, ast.Module], None]


def diagnose_with(rewrite: Rewrite, module: str = "") -> Diagnose:
    """Import the judgement anew, one module of it or all of them rewritten; return ``diagnose``.

    What was imported of it before is no longer found by its name: this belongs into a fork.
    """
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(rewrite, module))
    found: Diagnose = importlib.import_module(f"{PACKAGE}.diagnosis").diagnose
    return found


class _Loader(SourceFileLoader):
    def __init__(self, spec: ModuleSpec, rewrite: Rewrite) -> None:
        super().__init__(spec.name, str(spec.origin))
        self._rewrite = rewrite

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        self._rewrite(fullname, tree)
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, rewrite: Rewrite, module: str) -> None:
        self._rewrite, self._module = rewrite, module

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(PACKAGE) or self._module not in ("", name):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = _Loader(spec, self._rewrite)
        return spec
