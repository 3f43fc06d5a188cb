"""Programs of strangers who knew the README only, each with its key: half of them under ``run``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from regression_tests.benchmarks.births.strangers import command
from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.corpus.entry import OUT, ROOT, Entry, python

_FOLDER = ROOT / "regression_tests" / "benchmarks" / "births" / "strangers"
_TORCH = ("torch",)


def entries() -> Iterator[Entry]:
    """Yield each side of each program; the side without leaks is called ``fixed`` there."""
    for key in sorted(_FOLDER.glob("set_*/key.json")):
        for told in json.loads(key.read_text(encoding="utf-8")):
            for side, mode in (("leak", "leak"), ("clean", "fixed")):
                file, *arguments = command(key.parent, told, mode)
                watched = told["how"] == "run"
                watch = ("-m", "leakguard", "run", "-o", OUT) if watched else ()
                yield Entry(
                    f"strangers_{key.parent.name.removeprefix('set_')}",
                    f"{key.with_name(told['program']).stem}-{side}",
                    file,
                    tuple(map(_truth, told["leaks"])) if side == "leak" else (),
                    partial(python, *watch, file, *arguments, *(() if watched else (OUT,))),
                    needs=_TORCH if told["torch"] else (),
                )


def _truth(told: dict[str, Any]) -> Truth:
    """Return a leak of the key; where it names no phase, the program marks none."""
    return Truth(
        tuple(told["phases"]),
        holder=tuple(told["holders"]),
        start=None,
        lines=tuple(told["lines"]),
    )
