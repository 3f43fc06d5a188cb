"""Programs and logs that were told wrongly once: ``cases/right.toml`` says what is right of each.

What a case needs and the project does not install is looked for in a folder of the package's name,
as ``pip install --target`` makes it, below the folder that ``LEAKGUARD_EXTRAS`` names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import leakguard
from leakguard.model import Finding
from leakguard.render import render
from regression_tests.benchmarks.playing.entry import (
    BENCHMARKS,
    ROOT,
    Entry,
    Unplayable,
    python,
    watched,
)
from regression_tests.benchmarks.playing.manifest import MACHINES, Manifest
from regression_tests.benchmarks.playing.play import Answer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FOLDER = BENCHMARKS / "cases"
_RIGHT: dict[str, Any] = tomllib.loads((_FOLDER / "right.toml").read_text(encoding="utf-8"))
_EXTRAS = "LEAKGUARD_EXTRAS"
#: What stands before the file of a case, by how it is played.
_STARTS = {
    "own": python(),
    "play": python(str(_FOLDER / "programs" / "play.py")),
    "run": watched(),
    "log": python("-m", "leakguard", "report"),
    "pytest": python("-m", "pytest", "-p", "no:cacheprovider", "--leakguard"),
}


def _entries() -> Iterator[Entry]:
    for name, told in _RIGHT.items():
        extra = Path(os.environ.get(_EXTRAS, ""), told.get("extra", "").partition("==")[0])
        yield Entry(
            "cases",
            name,
            told["file"],
            (),
            partial(_command, told, extra),
            {"PYTHONPATH": os.pathsep.join([str(extra), str(ROOT)])} if "extra" in told else {},
            written=() if told["how"] == "run" else ("run.jsonl",),
            recorded=False,
            ends="exit status 1" if told["how"] == "pytest" else "",
        )


def _command(told: dict[str, Any], extra: Path) -> list[str]:
    if "extra" in told and not (_EXTRAS in os.environ and extra.is_dir()):
        raise Unplayable(f"needs {told['extra']} in a folder below that of {_EXTRAS}")
    file = str(_FOLDER / "programs" / told["file"])
    return [*_STARTS[told["how"]], file, *told.get("arguments", ())]


def _judge(entry: Entry, run: Path | None, printed: str) -> Answer:
    """Hold what was printed, and the full report of the run, to what is right."""
    right, words, whole = _RIGHT[entry.name], printed, 0
    if run is not None:
        report = leakguard.diagnose(leakguard.load(run))
        words += str(render(report, "terminal", width=1000, detail="full"))
        whole = sum(map(_is_whole, report.findings))
    words = " ".join(words.split())
    missing = [part for part in right.get("says", ()) if part not in words]
    wrong = [f"does not say {', '.join(missing)}"] if missing else []
    leaks = right.get("leaks", 0)
    wrong += [f"{whole} of {leaks} leaks told whole"] if whole < leaks else []
    return Answer(failure="; ".join(wrong) or None)


def _is_whole(finding: Finding) -> bool:
    named = bool(finding.held_by and finding.phase and finding.created_at)
    return named and finding.verdict != "healthy"


SETS = (
    Manifest(
        "cases",
        _entries,
        "Cases that were told wrongly once.",
        asked=(),
        times=10,
        machines=MACHINES,
        judge=_judge,
    ),
)
