"""Finds the files of the program in which a finding's place may be."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from leakguard.fixing.clue import Clue

_MOST_FILES_READ = 2_000
_LEFT_OUT = {"__pycache__", ".venv", "venv", "node_modules", "site-packages", "build"}


def likely_files(root: Path, clue: Clue, words: Sequence[str]) -> list[tuple[str, str]]:
    """Return (path below ``root``, text) of the likely files, the likeliest first.

    First the files of the lines that made the objects, then the module of the holder (the script of
    the command ``words`` for ``__main__``), then files with the name of the container.
    """
    texts = dict(sources(root))
    named = [line.file for line in clue.lines]
    named += [word for word in words if word.endswith(".py")]
    if clue.module and clue.module != "__main__":
        named.append(f"{clue.module}.py")
    first = [path for name in named for path in texts if is_same_file(path, name)]
    name = clue.cached or clue.name
    mentions = re.compile(rf"\b{re.escape(name)}\b") if name else None
    rest = [path for path, text in texts.items() if mentions and mentions.search(text)]
    return [(path, texts[path]) for path in dict.fromkeys((*first, *rest))]


def is_same_file(path: str, named: str) -> bool:
    """Return whether a path below the root is the file that a run or a command names."""
    named = named.replace(os.sep, "/")
    return path == named or named.endswith("/" + path) or path.endswith("/" + named)


def sources(root: Path) -> Iterator[tuple[str, str]]:
    found = 0
    for place, folders, names in os.walk(root):
        folders[:] = sorted(n for n in folders if n not in _LEFT_OUT and not n.startswith("."))
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            found += 1
            if found > _MOST_FILES_READ:
                return
            path = Path(place) / name
            try:
                with path.open(encoding="utf-8", newline="") as file:
                    yield path.relative_to(root).as_posix(), file.read()
            except (OSError, UnicodeDecodeError):
                continue
