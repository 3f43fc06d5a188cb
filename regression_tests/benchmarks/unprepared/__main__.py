"""Run scripts of other people alone and under ``leakguard run``: what is different, what is said?

``python -m regression_tests.benchmarks.unprepared FOLDER -o reports/unprepared`` takes the scripts
of ``scripts.toml`` from FOLDER, into which somebody has copied them; nothing is fetched. Exit
status 1 when a script printed or ended otherwise than alone.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from regression_tests.benchmarks.unprepared.play import Played, play
from regression_tests.benchmarks.unprepared.script import TABLE, scripts
from regression_tests.benchmarks.unprepared.table import page, row


def main() -> int:
    """Play, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of it")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the run files")
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.runs is not None:
        options.runs.mkdir(parents=True, exist_ok=True)
        options.runs = options.runs.resolve()
    all_played: list[Played] = []
    for script in scripts(options.table):
        if options.only and not any(text in script.path for text in options.only):
            continue
        if not (options.folder / script.path).exists():
            print(f"{script.path} is not in {options.folder}: left out", file=sys.stderr)
            continue
        all_played.append(play(script, options.folder.resolve(), options.rounds, options.runs))
        print(row(all_played[-1]), file=sys.stderr, flush=True)
        if options.out is not None:
            _write(options.out, page(all_played), options.rounds)
    print(page(all_played))
    return int(not all(played.same for played in all_played))


def _write(out: Path, text: str, rounds: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.md").write_text(text, encoding="utf-8")
    command: Sequence[str] = ("python", "-m", "regression_tests.benchmarks.unprepared", "FOLDER",
                              "--rounds", str(rounds), "-o", "reports/unprepared")  # fmt: skip
    (out / "COMMAND").write_text(f"{shlex.join(command)}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
