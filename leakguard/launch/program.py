"""Runs a program as ``__main__``, in every form that the interpreter can run."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib.util
import linecache
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import BuiltinImporter, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from leakguard.capture.library import COMMAND, runs_command
from leakguard.launch.plan import STANDARD_INPUT, Form

Compile = Callable[["bytes | str", str], CodeType]


class Program:
    """The future ``__main__``; ``compile_`` makes its code from source and file name."""

    def __init__(self, name: str, form: Form, arguments: list[str], compile_: Compile) -> None:
        self._name = name
        self._form = form
        self._arguments = arguments
        self._compile = compile_

    def run(self) -> None:
        """Run the program as ``python NAME``, ``python -m NAME`` or ``python -c NAME`` would."""
        if self._form == "module":
            self._run_module()
        elif self._form == "command":
            self._run_command()
        elif self._name == STANDARD_INPUT:
            self._run_standard_input()
        elif (place := place_of_modules(self._name)) is not None:
            self._run_main_of(place)
        else:
            self._run_file()

    def _run_file(self) -> None:
        path, file = Path(self._name), absolute(self._name)
        self._take_path_entry(os.fspath(path.resolve().parent))
        self._take_arguments(self._name)
        names = {"__file__": file, "__cached__": None}
        main = _new_main(None, SourceFileLoader("__main__", file), None, names)
        _run(main, lambda: self._compile(path.read_bytes(), file))

    def _run_module(self) -> None:
        self._take_path_entry(os.fspath(Path.cwd()))
        self._take_arguments("-m", "-m", self._name)
        spec = _spec_of(self._name)
        sys.argv[0] = spec.origin or self._name
        self._run_spec(spec)

    def _run_main_of(self, place: Any) -> None:
        """Run ``__main__`` of a folder or archive, from which other modules can be imported."""
        self._take_path_entry(absolute(self._name), always=True)
        self._take_arguments(self._name)
        spec: ModuleSpec | None = place.find_spec("__main__")
        if spec is None:
            sys.exit(f"{sys.executable}: can't find '__main__' module in {absolute(self._name)!r}")
        self._run_spec(spec)

    def _run_command(self) -> None:
        self._take_path_entry("")
        self._take_arguments("-c", "-c", self._name)
        runs_command()
        _run(_new_main(None, BuiltinImporter, None, {}), self._command_code)

    def _command_code(self) -> CodeType:
        file, text = COMMAND, self._name
        if sys.version_info >= (3, 13):  # its tracebacks show the lines of a command
            lines = [f"{line}\n" for line in text.splitlines()]
            linecache.cache[file] = (len(text), None, lines, file)
        return self._compile(text, file)

    def _run_standard_input(self) -> None:
        self._take_path_entry("")
        self._take_arguments(self._name)
        file = "<stdin>"
        main = _new_main(None, BuiltinImporter, None, {"__file__": file, "__cached__": None})
        _run(main, lambda: self._compile(sys.stdin.buffer.read() if sys.stdin else b"", file))

    def _run_spec(self, spec: ModuleSpec) -> None:
        names = {"__file__": spec.origin, "__cached__": spec.cached}
        main = _new_main(spec, spec.loader, spec.parent, names)
        _run(main, lambda: self._code_of(spec))

    def _code_of(self, spec: ModuleSpec) -> CodeType:
        loader: Any = spec.loader
        source = loader.get_source(spec.name) if hasattr(loader, "get_source") else None
        if source is None:  # compiled, without its source
            code: CodeType = loader.get_code(spec.name)
            return code
        return self._compile(source, spec.origin or spec.name)

    def _take_arguments(self, first: str, *typed: str) -> None:
        """Set ``sys.argv``, and ``sys.orig_argv`` to what a user would have typed instead."""
        sys.argv[:] = [first, *self._arguments]
        sys.orig_argv[:] = [sys.executable, *(typed or [first]), *self._arguments]

    def _take_path_entry(self, entry: str, *, always: bool = False) -> None:
        """Put the program's folder in place of our entry of ``sys.path``, if we have one."""
        if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
            sys.path[:0] = [entry] if always else []
        else:
            sys.path[0] = entry


def absolute(name: str) -> str:
    """Return the path as the interpreter makes it absolute, with its dots."""
    return name if Path(name).is_absolute() else f"{Path.cwd()}/{name}"


def place_of_modules(name: str) -> Any:
    """Return the finder of the modules in a folder or an archive; None for any other file."""
    return pkgutil.get_importer(absolute(name))


def _run(main: ModuleType, code: Callable[[], CodeType]) -> None:
    """Run the code; the traceback of an exception starts at the program, without our frames."""
    try:
        exec(code(), main.__dict__)
    except BaseException as error:
        _show_without_ours(error)
        if isinstance(error, KeyboardInterrupt):
            _interrupted.append(True)
        raise


_interrupted: list[bool] = []


def _die_of_interrupt() -> None:
    """Let an interrupted program end by the signal, which is status 130 in a shell.

    The interpreter remembers the interrupt, but forgets it when ``exec`` runs a text, as
    dataclasses do while the report is made. One more interrupt restores it.
    """
    if _interrupted:
        with contextlib.suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")


# Registered before the program begins, and so called after everything that it registers.
atexit.register(_die_of_interrupt)


def _new_main(
    spec: ModuleSpec | None, loader: Any, package: str | None, names: Mapping[str, str | None]
) -> ModuleType:
    """Return a new ``__main__``; only some forms have the ``names`` of a file."""
    main = ModuleType("__main__")
    main.__dict__.update(__package__=package, __loader__=loader, __spec__=spec)
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__.update(__builtins__=builtins, **names)
    sys.modules["__main__"] = main
    return main


def _spec_of(name: str) -> ModuleSpec:
    """Find a module, or a package's ``__main__``; exit as the interpreter would without it."""
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
    """Have the interpreter show ``error``, which is about to leave our code, without our frames."""
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
    """Return the traceback of ``error`` without our frames; also remove them from its causes."""
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
