"""The project's own settings: the table ``[tool.leakguard]`` of its pyproject.toml."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from leakguard.errors import UsageError, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = "pyproject.toml"


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not TOML or not UTF-8, or has a number of thousands of digits.
        RecursionError: it is nested too deeply.
    """
    return dict(tomllib.loads(path.read_text("utf-8")))


def leakguard_table(content: Any) -> Mapping[str, Any]:
    """Return the table ``[tool.leakguard]`` of a project file, or an empty one."""
    for key in ("tool", "leakguard"):
        content = content.get(key) if isinstance(content, Mapping) else None
    return content if isinstance(content, Mapping) else {}


def project_ignores(folder: Path | None = None) -> tuple[str, ...]:
    """Return the patterns under ``ignore`` of the nearest project file at or above ``folder``.

    Return none if there is no project file or it cannot be read: other tools report broken files,
    and the working folder may be gone.

    Raises:
        UsageError: ``ignore`` is not a list of strings.
    """
    try:
        start = Path.cwd() if folder is None else folder.absolute()
        path = next((f / _FILE for f in (start, *start.parents) if (f / _FILE).is_file()), None)
        if path is None:
            return ()
        patterns = leakguard_table(read_toml(path)).get("ignore", [])
    except (OSError, ValueError, RecursionError):
        return ()
    if isinstance(patterns, list):
        return checked_patterns(patterns, str(path))
    raise UsageError(f"{path}: ignore is no list; write ignore = ['package.Type']")


def checked_patterns(patterns: Iterable[Any], where: str) -> tuple[str, ...]:
    """Return the patterns; a single string would be read as one pattern per letter.

    Raises:
        UsageError: a pattern is not a string, or ``patterns`` is a single string.
    """
    if isinstance(patterns, str):
        one = shown(patterns)
        raise UsageError(f"{where}: {one} is one pattern; write ignore=[{one}]")
    try:
        kept = tuple(patterns)
    except Exception:
        raise UsageError(
            f"{where}: ignore= takes a list of patterns, not {type(patterns).__name__}"
        ) from None
    wrong = next((p for p in kept if not isinstance(p, str)), None)
    if wrong is not None:
        raise UsageError(f"{where}: {shown(wrong)} in ignore is no text")
    return kept
