"""Scripts whose key stands in a table beside this file: first hours, strangers' frameworks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.first_sight.script import truth_of
from regression_tests.corpus.entry import OUT, ROOT, Entry, python

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_BENCHMARKS = ROOT / "regression_tests" / "benchmarks"


def first_hour() -> Iterator[Entry]:
    """Yield each side of each script of a newcomer's first hour."""
    return _entries("first_hour", _BENCHMARKS / "first_hour" / "scripts", "*.jsonl", "s10.*")


def strangers() -> Iterator[Entry]:
    """Yield each side of each program that a stranger wrote with a framework."""
    folder = _BENCHMARKS / "frameworks" / "first_sight"
    return _entries("strangers", folder, "runs/first_sight/*.jsonl")


def _entries(group: str, folder: Path, *written: str) -> Iterator[Entry]:
    table = Path(__file__).with_name(f"{group}.toml")
    for name, told in tomllib.loads(table.read_text(encoding="utf-8")).items():
        file = folder / f"{name}.py"
        for side in ("leak", "clean"):
            yield _entry(group, file, side, told, written)


def _entry(
    group: str, file: Path, side: str, told: dict[str, Any], written: tuple[str, ...]
) -> Entry:
    watched = bool(told.get("run"))
    watch = ("-m", "leakguard", "run", "-o", OUT) if watched else ()
    return Entry(
        group,
        f"{file.stem}-{side}",
        str(file),
        tuple(truth_of(leak, file) for leak in told["leak"]) if side == "leak" else (),
        partial(python, *watch, str(file), side),
        needs=tuple(told.get("needs", ())),
        written=() if watched else written,
    )
