"""What is to be done when a module is imported, by whoever imports it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from leakguard.capture.library import is_library

Action = Callable[[ModuleType], None]
#: Makes the code of a module from its source and file; None leaves it to its loader.
CompileModule = Callable[[bytes, str], "CodeType | None"]


class Imports(MetaPathFinder):
    """Calls an action with a module as soon as its body has run, before anyone can use it.

    Modules of the program's own, which are not installed, are compiled by ``compile_own``.
    """

    def __init__(self, compile_own: CompileModule) -> None:
        self._waiting: dict[str, list[Action]] = {}
        self._compile_own = compile_own

    @property
    def missing(self) -> tuple[str, ...]:
        """The modules that nobody has imported so far."""
        return tuple(self._waiting)

    def when_imported(self, name: str, action: Action) -> None:
        """Call ``action`` with the module ``name``: now, or when it is imported."""
        module = sys.modules.get(name)
        if module is not None:
            action(module)
            return
        self._waiting.setdefault(name, []).append(action)

    def listen(self) -> None:
        """Be asked first for whatever is imported from now on."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders find a module that concerns us, and speak to its loader."""
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
        """Give the module of ``spec`` code of ours, if it has a source and is not installed."""
        file = spec.origin
        if type(spec.loader) is not SourceFileLoader or file is None or is_library(file):
            return
        loader: Any = spec.loader

        def get_code(name: str) -> CodeType | None:
            del loader.get_code
            code = None
            with contextlib.suppress(Exception):  # what is wrong with it its loader says
                code = self._compile_own(loader.get_data(file), file)
            return loader.get_code(name) if code is None else code

        loader.get_code = get_code

    def _listen(self, name: str, spec: ModuleSpec) -> None:
        """Act when the loader of ``spec``, made for this import, has run the module's body."""
        loader: Any = spec.loader
        run = getattr(loader, "exec_module", None)
        if run is None or isinstance(loader, type):
            return

        def run_and_act(module: ModuleType) -> None:
            with contextlib.suppress(AttributeError):
                del loader.exec_module
            run(module)
            self._act(name, module)

        with contextlib.suppress(AttributeError):  # a loader without attributes of its own
            loader.exec_module = run_and_act

    def _act(self, name: str, module: ModuleType) -> None:
        for action in self._waiting.pop(name, ()):
            action(module)


def _may_be_own(name: str, folders: Sequence[str]) -> bool:
    """Tell whether a module of that name lies in a folder that is no library's."""
    last = name.rpartition(".")[2]
    places = (Path.cwd() / f / last for f in folders if isinstance(f, str))
    return any(
        not is_library(str(place)) and (place.with_name(f"{last}.py").is_file() or place.is_dir())
        for place in places
    )
