"""What is to be done once a module has been imported, by whoever imports it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


class Imports(MetaPathFinder):
    """Calls an action with a module as soon as its body has run, before anyone can use it."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Action]] = {}

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
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders find a module that somebody waits for, and listen to its loader."""
        if fullname not in self._waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            found = None if finder is self or find is None else find(fullname, path, target)
            spec: ModuleSpec | None = found
            if spec is not None:
                self._listen(fullname, spec)
                return spec
        return None

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
