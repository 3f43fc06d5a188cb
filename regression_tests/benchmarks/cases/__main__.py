"""Play each case several times, idle and beside two busy processes, and compare with what is right.

::

    python -m regression_tests.benchmarks.cases [--times N] [--extras FOLDER] [-o FOLDER] [NAME ...]

`right.toml` says what is right. Each playing is a line of ``plays.jsonl`` in the output folder, and
one that is there is not played again. An extra is looked for in ``--extras``, in a folder of the
name of its package, as ``pip install --target`` makes it; without it the case is not played.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import tomllib

from regression_tests.benchmarks.harm.busy import neighbours
from regression_tests.benchmarks.playing.page import keep_page

MACHINES = ("idle", "loaded")
_LIMIT = 600  # seconds; the machine may be busy
_HERE = Path(__file__).parent
_PROGRAMS = _HERE / "programs"
_LEAKGUARD = [sys.executable, "-m", "leakguard"]
_HEAD = """# Cases that were told wrongly once

{times} plays of each, `idle` without a load of the benchmark's own, `loaded` beside two processes
that only compute, on two cores. What is right is said in `right.toml`.

"""


@dataclass(frozen=True, slots=True)
class Case:
    """A program or log, and what is right of it; ``right.toml`` explains the fields."""

    name: str
    file: str
    how: str
    arguments: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    leaks: int = 0
    extra: str = ""

    def command(self) -> list[str]:
        """Return how it is played, in an empty folder."""
        file = str(_PROGRAMS / self.file)
        starts = {
            "own": [sys.executable, file],
            "play": [sys.executable, str(_PROGRAMS / "play.py"), file],
            "run": [*_LEAKGUARD, "run", "-o", "run.jsonl", file],
            "log": [*_LEAKGUARD, "report", file],
            "pytest": [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "--leakguard",
                file,
            ],
        }
        return [*starts[self.how], *self.arguments]


@dataclass(frozen=True, slots=True)
class Turn:
    """One playing: what was wrong, empty if nothing was."""

    case: str
    machine: str
    turn: int
    wrong: str


def main() -> None:
    """Play what was not played yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--machine", choices=MACHINES, action="append", default=[])
    parser.add_argument("--extras", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("reports/cases"))
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    file = asked.output / "plays.jsonl"
    turns = (
        [Turn(**json.loads(line)) for line in file.read_text().splitlines()]
        if file.exists()
        else []
    )
    known = {(turn.case, turn.machine, turn.turn) for turn in turns}
    cases = [case for case in _cases() if case.name in asked.names or not asked.names]
    with file.open("a", encoding="utf-8") as kept:
        for machine in asked.machine or MACHINES:
            with neighbours(machine == "loaded"):
                for turn, case in product(range(asked.times), cases):
                    extra = _extra(case, asked.extras)
                    if (case.name, machine, turn) in known or (case.extra and extra is None):
                        continue
                    turns.append(Turn(case.name, machine, turn, _wrong(case, extra)))
                    print(json.dumps(asdict(turns[-1])), file=kept, flush=True)
    keep_page(asked.output / "table.md", _table(turns), __spec__.parent)


def _cases() -> Iterator[Case]:
    told = tomllib.loads((_HERE / "right.toml").read_text(encoding="utf-8"))
    for name, values in told.items():
        fields = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        yield Case(name, **fields)


def _extra(case: Case, extras: Path | None) -> Path | None:
    folder = extras / case.extra.partition("==")[0] if extras and case.extra else None
    return folder if folder and folder.is_dir() else None


def _wrong(case: Case, extra: Path | None) -> str:
    """Play a case once; return what was wrong."""
    paths = [str(extra)] if extra else []
    paths += [str(Path.cwd()), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory() as folder:

        def said(command: list[str]) -> tuple[int, str]:
            done = subprocess.run(
                command, cwd=folder, env=environment, timeout=_LIMIT, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace",
            )  # fmt: skip
            return done.returncode, " ".join((done.stdout + done.stderr).split())

        try:
            status, text = said(case.command())
        except subprocess.TimeoutExpired:
            return f"no end within {_LIMIT} s"
        if status and case.how != "pytest":
            return f"exit status {status}: {text[-200:]}"
        if Path(folder, "run.jsonl").exists():
            text += " " + said([*_LEAKGUARD, "report", "--full", "run.jsonl"])[1]
        missing = [part for part in case.says if part not in text]
        if missing:
            return f"does not say {', '.join(missing)}"
        if case.leaks:
            said([*_LEAKGUARD, "report", "run.jsonl", "-o", "report.json"])
            return _untold(case, json.loads(Path(folder, "report.json").read_text()))
    return ""


def _untold(case: Case, report: dict) -> str:
    told = [
        finding
        for finding in report["findings"]
        if finding["verdict"] != "healthy"
        and finding.get("held_by")
        and finding.get("phase")
        and finding.get("created_at")
    ]
    return "" if len(told) >= case.leaks else f"{len(told)} of {case.leaks} leaks told whole"


def _table(turns: list[Turn]) -> str:
    times = max(Counter((turn.case, turn.machine) for turn in turns).values())
    machines = [each for each in MACHINES if any(turn.machine == each for turn in turns)]
    names = list(dict.fromkeys(turn.case for turn in turns))
    rows = [f"| case | {' | '.join(machines)} |", f"|---|{'---|' * len(machines)}"]
    for name in names:
        shares = (_right(turns, name, machine) for machine in machines)
        rows.append(f"| `{name}` | {' | '.join(shares)} |")
    wrong = Counter((turn.case, turn.machine, turn.wrong) for turn in turns if turn.wrong)
    more = ["", "What was wrong:", ""] if wrong else []
    more += [f"- `{case}`, {machine}, {n} times: {w}" for (case, machine, w), n in wrong.items()]
    return _HEAD.format(times=times) + "\n".join([*rows, *more]) + "\n"


def _right(turns: list[Turn], name: str, machine: str) -> str:
    played = [turn for turn in turns if (turn.case, turn.machine) == (name, machine)]
    return f"{sum(not turn.wrong for turn in played)} of {len(played)}"


if __name__ == "__main__":
    main()
