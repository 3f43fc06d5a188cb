"""Scripts of other people under ``leakguard run``: they lie in no repository of ours.

Where they do, the variable ``LEAKGUARD_UNPREPARED`` names the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.playing.entry import Entry, Unplayable, watched
from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.unprepared.script import Script, scripts

FOLDER = "LEAKGUARD_UNPREPARED"
# What such a script keeps by its nature is told in words; a finding about it is no false alarm.
_KEPT = Truth((), start=None, kind=("instances", "container", "arrays", "tensors"))


def _entries() -> Iterator[Entry]:
    folder = Path(os.environ.get(FOLDER, ""))
    for script in scripts():
        paths = [str(folder / path) for path in (*script.paths, ".")]
        yield Entry(
            "unprepared",
            Path(script.path).stem,
            Path(script.path).name,
            (_KEPT,) if script.grows else (),
            partial(_command, script, folder),
            {"PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])},
        )


def _command(script: Script, folder: Path) -> list[str]:
    if FOLDER not in os.environ:
        raise Unplayable(f"a script of {script.origin}: {FOLDER} has to name a folder with it")
    arguments = [text.replace("{folder}", str(folder)) for text in script.arguments]
    return watched(*script.options, str(folder / script.path), *arguments)


SETS = (Manifest("unprepared", _entries, "Scripts of other people.", ("type",)),)
