"""The programs of strangers: sets 1 to 4 with a guard of their own, the rest under ``run``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from regression_tests.benchmarks.first_sight.script import scripts_of
from regression_tests.corpus.entry import OUT, ROOT, Entry, python

_FOLDER = ROOT / "regression_tests" / "benchmarks" / "first_sight"
_GUARDED = "RUN_FILE"


def entries() -> Iterator[Entry]:
    """Yield each side of each script."""
    for folder in sorted(_FOLDER.glob("set_*"), key=lambda path: int(path.name.split("_")[1])):
        for script in scripts_of(folder):
            for side in ("leak", "clean") if script.truths else ("clean",):
                prepared = _GUARDED in Path(script.file).read_text(encoding="utf-8")
                watch = () if prepared else ("-m", "leakguard", "run", "-o", OUT)
                yield Entry(
                    f"first_sight_{folder.name.removeprefix('set_')}",
                    f"{script.name}-{side}",
                    script.file,
                    script.truths if side == "leak" else (),
                    partial(python, *watch, script.file, side),
                    {_GUARDED: OUT},
                )
