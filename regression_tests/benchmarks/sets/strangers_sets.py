"""Programs of strangers who knew the README only, each with its key: half of them under ``run``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.playing.entry import BENCHMARKS, OUT, Entry, python, watched
from regression_tests.benchmarks.playing.manifest import Manifest

_KEYS = sorted((BENCHMARKS / "births" / "strangers").glob("set_*/key.json"))
#: Sides, as a program takes them for its argument.
_SIDES = {"leak": "leak", "clean": "fixed"}


def _entries(name: str, key: Path) -> Iterator[Entry]:
    for told in json.loads(key.read_text(encoding="utf-8")):
        for side, word in _SIDES.items():
            twin = told.get("twin") if side == "clean" else None
            words = [str(key.with_name(twin or told["program"])), *[word] * ("twin" not in told)]
            asked = [part for phase in told.get("asked", ()) for part in ("--phase", phase)]
            yield Entry(
                name,
                f"{key.with_name(told['program']).stem}-{side}",
                words[0],
                tuple(map(_truth, told["leaks"])) if side == "leak" else (),
                partial(watched, *asked, *words)
                if told["how"] == "run"
                else partial(python, *words, OUT),
                needs=("torch",) if told["torch"] else (),
            )


def _truth(told: dict[str, Any]) -> Truth:
    """Return a leak of the key; where it names no phase, the program marks none."""
    return Truth(
        tuple(told["phases"]),
        holder=tuple(told["holders"]),
        start=None,
        lines=tuple(told["lines"]),
    )


SETS = tuple(
    Manifest(
        name,
        partial(_entries, name, key),
        "Programs of strangers who had the README only.",
        ("holder", "line", "phase"),
    )
    for key in _KEYS
    for name in [f"strangers_{key.parent.name.removeprefix('set_')}"]
)
