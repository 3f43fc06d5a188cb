"""The leaking programs that are to be fixed, each recorded in a folder of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from regression_tests.benchmarks.playing.ended import Ended, ended

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HERE = Path(__file__).parent
_RUN = "found.jsonl"
_PATIENCE = 900  # seconds for one program: its run, or all runs of its changes or tests


def manifest() -> Iterator[tuple[str, bool]]:
    """Yield each program, and whether it has a guard of its own."""
    listed = tomllib.loads((_HERE / "programs.toml").read_text("utf-8"))
    for kind, own in (("unprepared", False), ("own_guard", True)):
        yield from ((path, own) for path in listed[kind])


def recorded(path: str, own: bool, folder: Path) -> str | Ended:
    """Run a copy of a program in a folder; return the name of its run, or how it ended."""
    script = _HERE.parent / path
    shutil.copy2(script, folder)
    watch = () if own else ("-m", "leakguard", "run", "-o", _RUN)
    end = python([*watch, script.name, "leak"], folder)
    runs = sorted(folder.glob("*.jsonl"))
    return runs[0].name if runs else end


def python(words: Sequence[str], folder: Path) -> Ended:
    """Run this interpreter in a folder to its end."""
    one_thread = {"OMP_NUM_THREADS": "1"}
    return ended([sys.executable, *words], _PATIENCE, folder=folder, variables=one_thread)
