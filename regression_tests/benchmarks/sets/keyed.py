"""Scripts whose key stands in a table beside this file: first hours, strangers' frameworks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.first_sight.script import truth_of
from regression_tests.benchmarks.playing.entry import BENCHMARKS, Entry, python, watched
from regression_tests.benchmarks.playing.manifest import Manifest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _entries(group: str, folder: Path, *written: str) -> Iterator[Entry]:
    table = Path(__file__).with_name(f"{group}.toml")
    for name, told in tomllib.loads(table.read_text(encoding="utf-8")).items():
        file = folder / f"{name}.py"
        for side in ("leak", "clean"):
            yield _entry(group, file, side, told, written)


def _entry(
    group: str, file: Path, side: str, told: dict[str, Any], written: tuple[str, ...]
) -> Entry:
    start = watched if told.get("run") else python
    return Entry(
        group,
        f"{file.stem}-{side}",
        str(file),
        tuple(truth_of(leak, file) for leak in told["leak"]) if side == "leak" else (),
        partial(start, str(file), side),
        needs=tuple(told.get("needs", ())),
        written=() if start is watched else written,
    )


_SCRIPTS, _PROGRAMS = BENCHMARKS / "first_hour" / "scripts", BENCHMARKS / "frameworks/first_sight"
SETS = (
    Manifest(
        "first_hour",
        partial(_entries, "first_hour", _SCRIPTS, "*.jsonl", "s10.*"),
        "Scripts of a newcomer, written from the README alone.",
    ),
    Manifest(
        "strangers",
        partial(_entries, "strangers", _PROGRAMS, "runs/first_sight/*.jsonl"),
        "Trainings of strangers, most of them with a framework.",
    ),
)
