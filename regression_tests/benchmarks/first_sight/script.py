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
_KEYS = {"type", "holder", "phase", "start", "within", "kind"}
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
        return Planted(file.stem, str(file), tuple(map(_truth, said.get("leak", []))))
    except (tomllib.TOMLDecodeError, TypeError, KeyError, ValueError) as error:
        raise Unreadable(f"{file}: its truth: {error}") from error


def _truth(leak: dict[str, Any]) -> Truth:
    unknown = leak.keys() - _KEYS
    if unknown:
        raise ValueError(f"unknown key {min(unknown)}; known: {', '.join(sorted(_KEYS))}")
    return Truth(
        _several(leak, "phase"),
        tuple(name.rpartition(".")[2] for name in _several(leak, "type")),
        _several(leak, "holder"),
        int(leak["start"]),
        int(leak.get("within", _WITHIN)),
        _several(leak, "kind"),
    )


def _several(leak: dict[str, Any], key: str) -> tuple[str, ...]:
    value = leak.get(key, [])
    return (value,) if isinstance(value, str) else tuple(value)
