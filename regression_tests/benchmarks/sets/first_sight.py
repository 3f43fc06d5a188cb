"""The programs of strangers: sets 1 to 4 with a guard of their own, the rest under ``run``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from regression_tests.benchmarks.first_sight.script import scripts_of
from regression_tests.benchmarks.playing.entry import BENCHMARKS, OUT, Entry, python, watched
from regression_tests.benchmarks.playing.manifest import Manifest

_FOLDERS = (BENCHMARKS / "first_sight").glob("set_*")
_GUARDED = "RUN_FILE"


def _entries(name: str, folder: Path) -> Iterator[Entry]:
    for script in scripts_of(folder):
        for side in ("leak", "clean") if script.truths else ("clean",):
            prepared = _GUARDED in Path(script.file).read_text(encoding="utf-8")
            yield Entry(
                name,
                f"{script.name}-{side}",
                script.file,
                script.truths if side == "leak" else (),
                partial(python if prepared else watched, script.file, side),
                {_GUARDED: OUT},
            )


SETS = tuple(
    Manifest(name, partial(_entries, name, folder), "Programs of strangers, each with its fix.")
    for folder in sorted(_FOLDERS, key=lambda path: int(path.name.split("_")[1]))
    for name in [f"first_sight_{folder.name.removeprefix('set_')}"]
)
