"""Distinguishes source files of libraries from those of the watched program."""

from __future__ import annotations

import functools
import os
import re
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
    ``<string>``, or the guard's own.
    """
    return bool(_INSTALLED.search(file)) or file.startswith((*_LIBRARIES, OWN_FOLDER + os.sep))
