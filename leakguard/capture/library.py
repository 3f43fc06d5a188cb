"""Distinguishes source files of libraries from those of the watched program."""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
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


@functools.lru_cache(maxsize=4096)
def is_library(file: str) -> bool:
    """Return whether a source file is no code of the program.

    It is none if it is an installed package, the standard library, an artificial file such as
    ``<string>``, or the guard's own. A package may be installed in any folder of the import path,
    also in the program's own.
    """
    if _INSTALLED.search(file) or file.startswith((*_LIBRARIES, OWN_FOLDER + os.sep)):
        return True
    on_path = (entry for entry in sys.path if isinstance(entry, str))
    above = (folder + os.sep for folder in map(os.path.abspath, on_path))
    folder = max(filter(file.startswith, above), key=len, default=None)
    if folder is None:
        return False
    return file[len(folder) :].partition(os.sep)[0] in _installed_in(folder)


@functools.lru_cache(maxsize=64)
def _installed_in(folder: str) -> frozenset[str]:
    """Return the names in a folder that belong to installed packages, by their records there."""
    names: set[str] = set()
    try:
        for record in Path(folder).glob("*.dist-info/RECORD"):
            lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
            names.update(line.partition(",")[0].partition("/")[0] for line in lines)
    except OSError:
        pass
    return frozenset(names)
