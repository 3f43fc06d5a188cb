"""Play the strangers' programs once with their leaks and once without, and hold them to their key.

::

    python -m regression_tests.benchmarks.births.strangers SET PLAYS [NAME ...]

SET is a folder here, such as `set_1`. Each playing is a line of the file PLAYS, and one that is
there is not played again. The table of all of them is printed. `KEY.md` of a set is the stranger's
own key, `key.json` that of this script.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import leakguard
from regression_tests.benchmarks.births.strangers import command

MODES = ("leak", "fixed")
_LIMIT = 900  # seconds; the machine may be busy
_HERE = Path(__file__).parent
SETS = sorted(key.parent.name for key in _HERE.glob("set_*/key.json"))


@dataclass(frozen=True, slots=True)
class Told:
    """What a report says of one finding."""

    verdict: str
    held_by: str | None
    phase: str | None
    created_at: str | None


@dataclass(frozen=True, slots=True)
class Play:
    """One playing, and the findings that are leaks or suspected."""

    program: str
    mode: str
    verdict: str
    told: tuple[Told, ...] = field(default=())


def main() -> None:
    """Play what was not played yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("plays", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    programs = _HERE / asked.set
    keys = json.loads((programs / "key.json").read_text(encoding="utf-8"))
    plays = list(_read(asked.plays))
    known = {(play.program, play.mode) for play in plays}
    for key in keys:
        name = Path(key["program"]).stem
        for mode in MODES if not asked.names or name in asked.names else ():
            if (name, mode) not in known:
                plays.append(_played(name, key["how"], mode, command(programs, key, mode)))
                with asked.plays.open("a", encoding="utf-8") as kept:
                    print(json.dumps(asdict(plays[-1])), file=kept)
    print(_table(keys, plays))


def _read(file: Path) -> Iterator[Play]:
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        entry = json.loads(line)
        yield Play(**{**entry, "told": tuple(Told(**told) for told in entry["told"])})


def _played(name: str, how: str, mode: str, program: Sequence[str]) -> Play:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.jsonl"
        own = [sys.executable, *program, str(run)]
        watched = [sys.executable, "-m", "leakguard", "run", "-o", str(run), *program]
        try:
            subprocess.run(
                watched if how == "run" else own, check=True, cwd=folder, timeout=_LIMIT,
                env={**os.environ, "PYTHONPATH": str(Path.cwd())}, capture_output=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Play(name, mode, f"no end within {_LIMIT} s")
        except subprocess.CalledProcessError as error:
            return Play(name, mode, f"exit status {error.returncode}")
        report = leakguard.diagnose(leakguard.load(run))
    found = [one for one in report.findings if one.verdict in ("leak", "suspect")]
    told = (Told(one.verdict, _holder(one), one.phase, one.created_at) for one in found)
    return Play(name, mode, report.verdict, tuple(told))


def _holder(finding: leakguard.Finding) -> str | None:
    return "cycles" if finding.kind == "cycles" else finding.held_by


def _table(keys: Iterable[Mapping[str, Any]], plays: Iterable[Play]) -> str:
    by_name = {(play.program, play.mode): play for play in plays}
    rows, counts = [], dict.fromkeys(("leaks", "found", "holder", "phase", "phases", "line"), 0)
    others = 0
    fixed: Counter[str] = Counter()
    for key in keys:
        name = Path(key["program"]).stem
        played = by_name.get((name, "leak"))
        if played is None:
            continue
        left = list(played.told)
        for leak in key["leaks"]:
            one = _of_leak(left, leak)
            left = [told for told in left if told is not one]
            right = _right(one, leak)
            counts["leaks"] += 1
            counts["phases"] += bool(leak["phases"])
            for what, is_so in right.items():
                counts[what] += is_so
            rows.append(_row(name, leak, one, right))
        others += len(left)
        rows += [f"| {name} | *no leak of the key* | {_said(told)} | | | |" for told in left]
        without = by_name.get((name, "fixed"))
        if without is not None:
            fixed[without.verdict] += 1
            said = map(_said, without.told)
            rows += [f"| {name}, fixed | **accused** | {one} | | | |" for one in said]
    head = (
        "{leaks} leaks: {found} found, {holder} with the right holder, {line} with a right line, "
        "{phase} of {phases} with the right phase".format_map(counts)
        + f"; {others} further findings. Fixed programs: "
        + ", ".join(f"{number} {verdict}" for verdict, number in fixed.most_common())
        + ".\n"
    )
    table = ["| program | leak | told | holder | phase | line |", "|---|---|---|---|---|---|"]
    return "\n".join([head, *table, *rows])


def _of_leak(told: list[Told], leak: Mapping[str, Any]) -> Told | None:
    """Return the finding of a leak: that of its holder, else that of its line, else a loose one."""
    held = (t for t in told if t.held_by and any(part in t.held_by for part in leak["holders"]))
    lines = [*leak["lines"], *leak["kept"]]
    made = (t for t in told if any(_is_at(t, line) for line in lines))
    loose = (t for t in told if t.held_by is None)
    return next(held, None) or next(made, None) or next(loose, None)


def _right(told: Told | None, leak: Mapping[str, Any]) -> dict[str, bool]:
    if told is None:
        return {"found": False, "holder": False, "phase": False, "line": False}
    holder = told.held_by or ""
    return {
        "found": True,
        "holder": any(part in holder for part in leak["holders"]),
        "phase": told.phase in leak["phases"],
        "line": any(_is_at(told, line) for line in leak["lines"]),
    }


def _is_at(told: Told, line: str) -> bool:
    return (told.created_at or "").partition(" ")[0].rpartition("/")[2] == line


def _row(name: str, leak: Mapping[str, Any], told: Told | None, right: Mapping[str, bool]) -> str:
    phase = ("yes" if right["phase"] else "no") if leak["phases"] else "-"
    marks = ["yes" if right["holder"] else "no", phase, "yes" if right["line"] else "no"]
    said = "nothing" if told is None else _said(told)
    return f"| {name} | `{leak['holders'][0]}` | {said} | {' | '.join(marks)} |"


def _said(told: Told) -> str:
    held = f"`{told.held_by}`" if told.held_by else "no holder"
    return f"{told.verdict}, {held}, {told.phase or 'no phase'}, {told.created_at or 'no line'}"


if __name__ == "__main__":
    main()
