"""A script or module run as ``__main__``, as the interpreter itself would."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

Compile = Callable[["bytes | str", str], CodeType]


class Program:
    """What will be ``__main__``; its code is made by ``compile_``, from source and file name."""

    def __init__(self, name: str, arguments: list[str], compile_: Compile) -> None:
        self._name = name
        self._arguments = arguments
        self._compile = compile_

    def run_script(self) -> None:
        """Run a path, as ``python PATH ARGUMENTS`` does."""
        path = Path(self._name)
        file = self._name if path.is_absolute() else f"{Path.cwd()}/{self._name}"
        _take_path_entry(os.fspath(path.resolve().parent))
        main = _new_main(None, file, SourceFileLoader("__main__", file), None)
        sys.argv[:] = [self._name, *self._arguments]
        sys.orig_argv[:] = [sys.executable, *sys.argv]
        _run(main, lambda: self._compile(path.read_bytes(), file))

    def run_module(self) -> None:
        """Run a module, as ``python -m NAME ARGUMENTS`` does."""
        _take_path_entry(os.fspath(Path.cwd()))
        sys.argv[:] = ["-m", *self._arguments]
        sys.orig_argv[:] = [sys.executable, "-m", self._name, *self._arguments]
        spec = _spec_of(self._name)
        loader: Any = spec.loader
        main = _new_main(spec, spec.origin, loader, spec.parent)
        sys.argv[0] = spec.origin or self._name
        _run(main, lambda: self._code_of(loader, spec))

    def _code_of(self, loader: Any, spec: ModuleSpec) -> CodeType:
        source = loader.get_source(spec.name) if hasattr(loader, "get_source") else None
        if source is None:  # compiled, without its source
            code: CodeType = loader.get_code(spec.name)
            return code
        return self._compile(source, spec.origin or spec.name)


def _run(main: ModuleType, code: Callable[[], CodeType]) -> None:
    """Run the code; what it raises is shown as if it were the first thing that runs."""
    try:
        exec(code(), main.__dict__)
    except BaseException as error:
        _show_without_ours(error)
        if isinstance(error, KeyboardInterrupt):
            _interrupted.append(True)
        raise


_interrupted: list[bool] = []


def _die_of_interrupt() -> None:
    """Let the process end by the signal, the shell's 130, if an interrupt ended its program.

    The interpreter remembers that, and forgets it when a text is executed, as dataclasses do while
    the report is made: one more interrupt reminds it.
    """
    if _interrupted:
        with contextlib.suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")


# Registered before the program begins, and so called after all that it registers.
atexit.register(_die_of_interrupt)


def _take_path_entry(entry: str) -> None:
    """Put the program's folder where the interpreter has put ours."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = entry


def _new_main(
    spec: ModuleSpec | None, file: str | None, loader: Any, package: str | None
) -> ModuleType:
    main = ModuleType("__main__")
    known = {
        "__spec__": spec,
        "__file__": file,
        "__loader__": loader,
        "__package__": package,
        "__cached__": None if spec is None else spec.cached,
        "__builtins__": builtins,
    }
    main.__dict__.update(known)
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def _spec_of(name: str) -> ModuleSpec:
    """Find a module, or the ``__main__`` of a package; the interpreter ends where there is none."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        sys.exit(f"{sys.executable}: Error while finding module {name!r} ({error})")
    if spec is None or spec.loader is None:
        sys.exit(f"{sys.executable}: No module named {name}")
    return spec


# -- what an exception shows -------------------------------------------------------------------


def _show_without_ours(error: BaseException) -> None:
    """Let the interpreter show ``error``, which is about to leave us, without our frames."""
    trimmed = _trimmed(error, set())
    show = sys.excepthook

    def show_trimmed(
        kind: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None:
        if value is error:
            error.__traceback__ = traceback = trimmed
        show(kind, value, traceback)

    sys.excepthook = show_trimmed


def _trimmed(error: BaseException, seen: set[int]) -> TracebackType | None:
    """Return the traceback of ``error`` without our frames; cut them from what it came from."""
    seen.add(id(error))
    for earlier in (error.__cause__, error.__context__):
        if earlier is not None and id(earlier) not in seen:
            earlier.__traceback__ = _trimmed(earlier, seen)
    return _without_ours(error.__traceback__)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and _is_ours(traceback):
        traceback = traceback.tb_next
    if traceback is not None:
        traceback.tb_next = _without_ours(traceback.tb_next)
    return traceback


def _is_ours(traceback: TracebackType) -> bool:
    name = traceback.tb_frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == "leakguard"
