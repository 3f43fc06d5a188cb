"""Runs actions when modules are imported, whatever code imports them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any
from zipimport import zipimporter

from leakguard.capture.library import is_library

Action = Callable[[ModuleType], None]
#: Makes the code of a module from its source and file; None leaves that to the module's loader.
CompileModule = Callable[[str, str], "CodeType | None"]
# Classes of loaders that can return a module's source.
_WITH_SOURCE = (SourceFileLoader, zipimporter)


class Imports(MetaPathFinder):
    """Calls an action with a module once the module's body has run, before other code can use it.

    Modules of the program itself, which are not installed, are compiled by ``compile_own``.
    """

    def __init__(self, compile_own: CompileModule) -> None:
        self._waiting: dict[str, list[Action]] = {}
        self._compile_own = compile_own

    @property
    def missing(self) -> tuple[str, ...]:
        """The modules with an action that have not been imported so far."""
        return tuple(self._waiting)

    def when_imported(self, name: str, action: Action) -> None:
        """Call ``action`` with the module ``name``: now, or when it is imported."""
        module = sys.modules.get(name)
        if module is not None:
            action(module)
            return
        self._waiting.setdefault(name, []).append(action)

    def listen(self) -> None:
        """Become the first finder for all later imports."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders find a module that matters here, and change its loader."""
        is_own = _may_be_own(fullname, sys.path if path is None else path)
        if not is_own and fullname not in self._waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            found = None if finder is self or find is None else find(fullname, path, target)
            spec: ModuleSpec | None = found
            if spec is not None:
                if is_own:
                    self._compile(spec)
                if fullname in self._waiting:
                    self._listen(fullname, spec)
                return spec
        return None

    def _compile(self, spec: ModuleSpec) -> None:
        """Compile the module of ``spec`` with marks, if it has a source and is not installed."""
        file = spec.origin
        if type(spec.loader) not in _WITH_SOURCE or file is None or is_library(file):
            return
        loader: Any = spec.loader

        def get_code(name: str) -> CodeType | None:
            with contextlib.suppress(AttributeError):  # done for another module of the archive
                del loader.get_code
            code = None
            with contextlib.suppress(Exception):  # the loader reports what is wrong with it
                code = self._compile_own(loader.get_source(name), loader.get_filename(name))
            return loader.get_code(name) if code is None else code

        loader.get_code = get_code

    def _listen(self, name: str, spec: ModuleSpec) -> None:
        """Act once the loader of ``spec``, made for this import, has run the module's body."""
        loader: Any = spec.loader
        run = getattr(loader, "exec_module", None)
        if run is None or isinstance(loader, type):
            return

        def run_and_act(module: ModuleType) -> None:
            with contextlib.suppress(AttributeError):
                del loader.exec_module
            run(module)
            self._act(name, module)

        with contextlib.suppress(AttributeError):  # a loader that has no attributes of its own
            loader.exec_module = run_and_act

    def _act(self, name: str, module: ModuleType) -> None:
        for action in self._waiting.pop(name, ()):
            action(module)


def _may_be_own(name: str, folders: Sequence[str]) -> bool:
    """Return whether such a module may be in a folder or archive that belongs to no library."""
    last = name.rpartition(".")[2]
    entries = (Path.cwd() / entry for entry in folders if isinstance(entry, str))
    return any(not is_library(str(e / last)) and _may_hold(e, last) for e in entries)


def _may_hold(entry: Path, name: str) -> bool:
    """Return whether a folder has the module, or the entry is in an archive, as far as visible."""
    if (entry / f"{name}.py").is_file() or (entry / name).is_dir():
        return True
    return any(place.is_file() for place in (entry, *entry.parents))
