"""Kinds that went untold once: our own programs, and those of strangers, each again and again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.playing.entry import BENCHMARKS, OUT, Entry, python, watched
from regression_tests.benchmarks.playing.manifest import MACHINES, Manifest
from regression_tests.benchmarks.silence.child import PROGRAMS

_CHILD = ("-m", "regression_tests.benchmarks.silence.child")
_KEYS = [BENCHMARKS / "silence" / name / "key.json" for name in ("first_sight", "made_and_kept")]


def _entries() -> Iterator[Entry]:
    for name, program in PROGRAMS.items():
        leaks = tuple(
            Truth((), holder=(held,), start=None, fix=program.fix) for held in program.held_by
        )
        for side, truths in (("leak", leaks), ("clean", ())):
            yield Entry(
                "silence",
                f"{name}-{side}",
                f"{program.make.__module__.rpartition('.')[2]}.py",
                truths,
                partial(python, *_CHILD, name, side, OUT),
                needs=("torch",) if program.torch else (),
            )


def _of_strangers() -> Iterator[Entry]:
    for key in _KEYS:
        for told in json.loads(key.read_text(encoding="utf-8")):
            script, unprepared = key.with_name(told["program"]), told["how"] == "run"
            truths = tuple(_truth(leak, unprepared) for leak in told["leaks"])
            for side, word, its in (("leak", "leak", truths), ("clean", "fixed", ())):
                yield Entry(
                    "silence_strangers",
                    f"{script.stem}-{side}",
                    str(script),
                    its,
                    partial(watched if unprepared else python, str(script), word),
                    {"OUT": OUT},
                    needs=("torch",) if told["torch"] else (),
                )


def _truth(told: dict[str, Any], unprepared: bool) -> Truth:
    """Return a leak of the key, which tells holders in prose and not all lines that are right.

    A program under ``run`` has no phases.
    """
    return Truth(() if unprepared or told["phase"] is None else (told["phase"],), start=None)


SETS = (
    Manifest(
        "silence",
        _entries,
        "Programs written after the kinds of leak that went untold were told.",
        ("holder", "fix"),
    ),
    Manifest(
        "silence_strangers",
        _of_strangers,
        "Programs of strangers, again and again: do they say the same on any machine?",
        ("phase",),
        times=5,
        machines=MACHINES,
    ),
)
