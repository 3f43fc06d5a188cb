"""Counts what one diagnosis walks through: files, functions, and moves from file to file.

``python -m regression_tests.benchmarks.walk reports/env-per-episode/run.jsonl``
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import leakguard
from leakguard.analysis import diagnose
from leakguard.model import Run

_ROOT = Path(str(leakguard.__file__)).parent
#: Where growth is settled, from the first step to the first name of a finding.
_FIRST, _LAST = "analysis/settlement.py", "analysis/naming.py"
#: The judge of one list of numbers, and shared limits: asked from everywhere.
_ASKED = ("analysis/series/", "analysis/tolerance.py")


def walked(run: Run) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the files that a diagnosis moves through, in order, and the functions it enters."""
    moves: list[str] = []
    functions: set[tuple[str, str]] = set()

    def follow(frame: FrameType, event: str, _: Any) -> None:
        at = frame if event == "call" else frame.f_back
        if event not in ("call", "return") or at is None:
            return
        file = Path(at.f_code.co_filename)
        if file.is_relative_to(_ROOT):
            name = file.relative_to(_ROOT).as_posix()
            called = getattr(at.f_code, "co_qualname", at.f_code.co_name)
            functions.add((name, called.partition(".<locals>.<")[0]))
            moves.append(name)

    sys.setprofile(follow)
    try:
        diagnose(run)
    finally:
        sys.setprofile(None)
    return [name for name, _ in groupby(moves)], functions


def settled(moves: list[str]) -> list[str]:
    """Return the moves inside of the judgement between its sources and the first finding."""
    inside = [m for m in moves if m.startswith("analysis/") and not m.startswith(_ASKED)]
    road = [name for name, _ in groupby(inside)]
    end = road.index(_LAST) if _LAST in road else len(road)  # nothing is named in a calm run
    return road[road.index(_FIRST) : end]


def main() -> None:
    """Print the counts for each run that is named."""
    for path in sys.argv[1:]:
        moves, functions = walked(leakguard.load(path))
        road = settled(moves)
        print(
            f"{path}: {len(set(moves))} files, {len(functions)} functions; {len(road)} moves in "
            f"{len(set(road))} files from the sources to the first finding"
        )
        for (one, other), times in Counter(pairwise(road)).most_common(8):
            print(f"  {times:4} {one} -> {other}")


if __name__ == "__main__":
    main()
