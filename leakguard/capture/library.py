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


def is_library(file: str) -> bool:
    """Return whether a source file is no code of the program.

    It is none if it is an installed package, the standard library, the guard's own, or an
    artificial file such as ``<frozen runpy>``; what a user typed has no file either, and is the
    program's. A package may be installed in any folder of the import path, also in the program's.
    """
    return not is_typed(file) and _is_installed(file)


def is_typed(file: str) -> bool:
    """Return whether code was typed, given as ``-c`` or came by the standard input."""
    if file == "<string>":  # what generates code has this name, too
        return sys.argv[:1] == ["-c"]
    return _TYPED.fullmatch(file) is not None


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
