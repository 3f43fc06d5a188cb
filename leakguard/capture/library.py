"""Distinguishes source files of libraries from those of the watched program."""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

#: The guard itself: the name of its package, and the package's folder.
OWN_PACKAGE = __name__.partition(".")[0]
OWN_FOLDER = str(Path(__file__).parents[1])
_LIBRARIES = tuple(
    path + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_path(name))
)
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]|^<")
# What the interpreter calls code that it was given without a file, and what consoles call theirs.
_TYPED = re.compile(r"<(stdin|console|python-input-\d+)>")
#: What the interpreter calls the code of ``-c``, and libraries the code that they make.
COMMAND = "<string>"
_commands: set[str] = set()


def is_library(file: str) -> bool:
    """Return whether a source file is no code of the program.

    It is none if it is an installed package, the standard library, the guard's own, or an
    artificial file such as ``<frozen runpy>``; what a user typed has no file either, and is the
    program's. A package may be installed in any folder of the import path, also in the program's.
    """
    return not is_typed(file) and _is_installed(file)


def is_typed(file: str) -> bool:
    """Return whether code was typed, is the program's command, or came by the standard input."""
    # A look asks for hundreds of thousands of frames, so most are told by one letter.
    return file.startswith("<") and (file in _commands or _TYPED.fullmatch(file) is not None)


def runs_command() -> None:
    """Take the code of ``-c`` for the program's from now on: it was given to ``leakguard run``.

    The interpreter's own ``-c`` says nothing: pools and test runners begin their workers by it.
    """
    _commands.add(COMMAND)


@functools.lru_cache(maxsize=4096)
def _is_installed(file: str) -> bool:
    if _INSTALLED.search(file) or file.startswith((*_LIBRARIES, OWN_FOLDER + os.sep)):
        return True
    folder = innermost(file, sys.path)
    if folder is None:
        return False
    return not _installed_in(folder).isdisjoint(Path(file).relative_to(folder).parts[:1])


def innermost(file: str, folders: Iterable[str]) -> Path | None:
    """Return the absolute path of the innermost of these folders that a file lies in."""
    known = (Path(folder).absolute() for folder in folders if isinstance(folder, str))
    around = filter(Path(file).is_relative_to, known)
    return max(around, key=lambda folder: len(folder.parts), default=None)


@functools.lru_cache(maxsize=64)
def _installed_in(folder: Path) -> frozenset[str]:
    """Return the names in a folder that belong to installed packages, by their records there."""
    names: set[str] = set()
    try:
        for record in folder.glob("*.dist-info/RECORD"):
            lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
            names.update(line.partition(",")[0].partition("/")[0] for line in lines)
    except OSError:
        pass
    return frozenset(names)
