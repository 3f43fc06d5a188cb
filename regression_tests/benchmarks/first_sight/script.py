"""A script of a stranger and the truth that stands in it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.leakbench.program import Planted, Truth

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_BLOCK = re.compile(r"^# /// truth\s*\n((?:#.*\n)+?)# ///\s*$", re.MULTILINE)
_KEYS = {"type", "holder", "phase", "start", "within", "kind", "line"}
_WITHIN = 3
"""Generations that a start may be off where the stranger does not say: three looks decide."""


class Unreadable(ValueError):
    """The truth of a script is missing or cannot be understood."""


def scripts_of(folder: Path) -> list[Planted]:
    """Return the scripts of a folder by name."""
    files = sorted(f for f in folder.glob("*.py") if not f.name.startswith("_"))
    if not files:
        raise Unreadable(f"{folder}: no script; write one as FORMAT.md says")
    return [read_script(file) for file in files]


def read_script(file: Path) -> Planted:
    """Return a script with the truth in its comment block."""
    block = _BLOCK.search(file.read_text(encoding="utf-8"))
    if block is None:
        raise Unreadable(f"{file}: no block '# /// truth'; write one as FORMAT.md says")
    lines = (line.removeprefix("#").removeprefix(" ") for line in block[1].splitlines())
    try:
        said = tomllib.loads("\n".join(lines))
        truths = tuple(truth_of(leak, file) for leak in said.get("leak", []))
        return Planted(file.stem, str(file), truths)
    except (tomllib.TOMLDecodeError, TypeError, KeyError, ValueError) as error:
        raise Unreadable(f"{file}: its truth: {error}") from error


def truth_of(leak: dict[str, Any], file: Path) -> Truth:
    """Return a table ``[[leak]]`` as the truth about the script ``file``.

    Raises:
        ValueError: a key is unknown, or no line of the script is the one that is named.
    """
    unknown = leak.keys() - _KEYS
    if unknown:
        raise ValueError(f"unknown key {min(unknown)}; known: {', '.join(sorted(_KEYS))}")
    return Truth(
        _several(leak, "phase"),
        tuple(name.rpartition(".")[2] for name in _several(leak, "type")),
        _several(leak, "holder"),
        int(leak["start"]) if "start" in leak else None,
        int(leak.get("within", _WITHIN)),
        _several(leak, "kind"),
        lines=tuple(place for text in _several(leak, "line") for place in _places(text, file)),
    )


def _places(text: str, file: Path) -> list[str]:
    """Return where a line stands, ``file.py:12``: in the script, or else in what it imports."""
    for source in (file, *sorted(file.parent.glob("*/**/*.py"))):
        lines = source.read_text(encoding="utf-8").splitlines()
        found = [f"{source.name}:{n}" for n, line in enumerate(lines, 1) if line.strip() == text]
        if found:
            return found
    raise ValueError(f"no line is {text!r}")


def _several(leak: dict[str, Any], key: str) -> tuple[str, ...]:
    value = leak.get(key, [])
    return (value,) if isinstance(value, str) else tuple(value)
