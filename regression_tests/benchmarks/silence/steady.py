"""Play the strangers' scripts several times each, idle and beside two busy processes.

A script whose verdict or holder hangs on the machine is one that cannot be believed::

    python -m regression_tests.benchmarks.silence.steady [--times N] [-o FOLDER]

Each playing is a line of ``plays.jsonl`` in the folder, and one that is there is not played again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import leakguard
from regression_tests.benchmarks.harm.busy import neighbours
from regression_tests.benchmarks.playing.page import keep_page

SETS = ("first_sight", "made_and_kept")
MODES = {"leak": "leak", "fixed": "stable"}
MACHINES = ("idle", "loaded")
_LIMIT = 600  # seconds; the machine may be busy
_HERE = Path(__file__).parent
_HEAD = """# The same script, again and again

{many} programs, the strangers' scripts with their leak and without it, {torch} of them with torch,
{times} times each: `idle` without a load of the benchmark's own, `loaded` beside two processes that
only compute, on two cores. **Right** is LEAK with the leak and STABLE without. Of a program with a
leak the holders of all findings count, also where a second finding is too much.

"""


@dataclass(frozen=True, slots=True)
class Play:
    """One playing: what the report said of the leaks."""

    program: str
    mode: str
    machine: str
    turn: int
    torch: bool
    verdict: str
    holders: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def name(self) -> tuple[str, str]:
        """The program that was played: a script in one of its modes."""
        return self.program, self.mode


def main() -> None:
    """Play what was not played yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--machine", choices=MACHINES, action="append", default=[])
    parser.add_argument("-o", "--output", type=Path, default=Path("reports/silence/steady"))
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    file = asked.output / "plays.jsonl"
    plays = list(_read(file))
    known = {(*play.name, play.machine, play.turn) for play in plays}
    with file.open("a", encoding="utf-8") as kept:
        for machine in asked.machine or MACHINES:
            with neighbours(machine == "loaded"):
                for turn, (script, key), mode in product(range(asked.times), _scripts(), MODES):
                    if (script.stem, mode, machine, turn) in known:
                        continue
                    play = _played(script, key, mode, machine, turn)
                    plays.append(play)
                    print(json.dumps(asdict(play)), file=kept, flush=True)
    keep_page(asked.output / "table.md", _table(plays), __spec__.name)


def _read(file: Path) -> Iterator[Play]:
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        told = json.loads(line)
        yield Play(**{**told, "holders": tuple(told["holders"]), "lines": tuple(told["lines"])})


def _scripts() -> Iterator[tuple[Path, Mapping[str, object]]]:
    for each in SETS:
        for key in json.loads((_HERE / each / "key.json").read_text(encoding="utf-8")):
            yield _HERE / each / key["program"], key


def _played(script: Path, key: Mapping[str, object], mode: str, machine: str, turn: int) -> Play:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.jsonl"
        watch = ["-m", "leakguard", "run", "-o", str(run)] if key["how"] == "run" else []
        command = [sys.executable, *watch, str(script), mode]
        found: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        try:
            subprocess.run(
                command, check=True, cwd=folder, env={**os.environ, "OUT": str(run)},
                timeout=_LIMIT, capture_output=True,
            )  # fmt: skip
            report = leakguard.diagnose(leakguard.load(run))
            verdict = report.verdict
            leaks = [one for one in report.findings if one.verdict == "leak"]
            found = (
                tuple(sorted({one.held_by or "unknown" for one in leaks})),
                tuple(sorted({one.created_at or "unknown" for one in leaks})),
            )
        except subprocess.TimeoutExpired:
            verdict = f"no end within {_LIMIT} s"
        except subprocess.CalledProcessError as error:
            verdict = f"exit status {error.returncode}"
        return Play(script.stem, mode, machine, turn, bool(key["torch"]), verdict, *found)


def _table(plays: list[Play]) -> str:
    names = sorted({play.name for play in plays})
    times = max(Counter((*play.name, play.machine) for play in plays).values())
    torch = len({play.name for play in plays if play.torch})
    machines = [each for each in MACHINES if any(one.machine == each for one in plays)]
    rows = [
        f"| programs | {' | '.join(machines)} |",
        f"|---|{'---|' * len(machines)}",
        *(
            f"| {what} | {' | '.join(_share(plays, machine, judge) for machine in machines)} |"
            for what, judge in _QUESTIONS.items()
        ),
    ]
    unsteady = [
        line
        for name in names
        if len({(one.verdict, one.holders) for one in plays if one.name == name}) > 1
        for line in _told(name, [one for one in plays if one.name == name])
    ]
    head = _HEAD.format(many=len(names), torch=torch, times=times)
    more = ["", "What was not one and the same:", "", *unsteady] if unsteady else []
    return head + "\n".join([*rows, *more]) + "\n"


def _share(plays: list[Play], machine: str, judge: Callable[[list[Play]], bool]) -> str:
    """Return of how many programs on this machine the answer is yes."""
    names = {play.name for play in plays if play.machine == machine}
    of_each = ([p for p in plays if p.name == name and p.machine == machine] for name in names)
    return f"{sum(map(judge, of_each))} of {len(names)}"


_QUESTIONS: Mapping[str, Callable[[list[Play]], bool]] = {
    "right every time": lambda some: all(one.verdict == MODES[one.mode] for one in some),
    "one verdict": lambda some: len({one.verdict for one in some}) == 1,
    "one set of holders": lambda some: len({one.holders for one in some}) == 1,
    "one set of lines": lambda some: len({one.lines for one in some}) == 1,
}


def _told(name: tuple[str, str], plays: list[Play]) -> Iterator[str]:
    yield f"- `{name[0]}`, {name[1]}:"
    seen = Counter((one.machine, one.verdict, one.holders) for one in plays)
    for (machine, verdict, holders), times in sorted(seen.items()):
        told = ", ".join(f"`{holder}`" for holder in holders) or "no leak"
        yield f"  - {machine}, {times} times: {verdict}, {told}"


if __name__ == "__main__":
    main()
