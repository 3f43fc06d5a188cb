"""Play programs that a guard could hurt, alone and watched, and write what is different.

    python -m regression_tests.benchmarks.harm [NAMES...] [--times N] [--how api,run] [--loaded]
        [--python PY...] [-o FOLDER]

A program is played alone, as the measure; through the API (``api``); under ``leakguard run``
(``run``); and with a guard that LEAKGUARD=off switches off (``off``). The names are those of files
in ``programs/``, of single cases (``graph_linear[1000]``), or beginnings of both. Without any all
are played, those marked heavy with ``--heavy`` only. Results are written after every program. In
a table that is there rows of what is not played stay, so that it can be made in several goes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regression_tests.benchmarks.harm.busy import neighbours
from regression_tests.benchmarks.harm.comparison import Row
from regression_tests.benchmarks.harm.laboratory import Laboratory
from regression_tests.benchmarks.harm.program import CORPUS, Program, programs
from regression_tests.benchmarks.harm.table import as_json, facts, from_json, page


def main() -> int:
    """Play them and return 1 where one was harmed, 2 where a name is unknown."""
    given = _parser().parse_args()
    try:
        wanted = programs(given.names, given.corpus)
    except ValueError as error:
        print(f"harm: {error}", file=sys.stderr)
        return 2
    if not given.names and not given.heavy:
        wanted = [program for program in wanted if not program.heavy]
    rows: list[Row] = []  # of this time; those of earlier ones stay in the table
    kept = _kept(given)
    with neighbours(given.loaded):
        for program in wanted:
            rows += _played(program, given)
            if given.out is not None:
                _write(_merged(kept, rows), given)
    print(page(rows, facts(given.loaded, given.threads)))
    return int(any(row.is_harmed for row in rows))


def _played(program: Program, given: argparse.Namespace) -> list[Row]:
    rows = []
    for python in given.python or [sys.executable]:
        laboratory = Laboratory(python, given.times, given.threads, given.loaded)
        for row in laboratory.rows(program, given.how.split(",")):
            print(f"{row.name}, {row.how}, {row.python}: {row.verdict}", file=sys.stderr)
            rows.append(row)
    return rows


def _kept(given: argparse.Namespace) -> list[Row]:
    if given.out is None or not (file := given.out / f"{given.table}.json").exists():
        return []
    return from_json(file.read_text(encoding="utf-8"))


def _merged(kept: list[Row], rows: list[Row]) -> list[Row]:
    every = {(row.name, row.how, row.python): row for row in (*kept, *rows)}
    return [every[key] for key in sorted(every)]


def _write(rows: list[Row], given: argparse.Namespace) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    text = page(rows, facts(given.loaded, given.threads))
    (given.out / f"{given.table}.md").write_text(text, encoding="utf-8")
    (given.out / f"{given.table}.json").write_text(as_json(rows), encoding="utf-8")


def _folder(text: str) -> Path:
    """Return a folder as each program, which has a working folder of its own, finds it, too."""
    return Path(text).absolute()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--times", type=int, default=1, help="of each, in turns; medians count")
    parser.add_argument("--how", default="api,run", help="of api, run and off, with commas")
    parser.add_argument("--loaded", action="store_true", help="beside two busy processes")
    parser.add_argument("--heavy", action="store_true", help="those marked heavy, too")
    parser.add_argument("--python", nargs="+", metavar="PY", help="interpreters, with leakguard's "
                        "dependencies (this one)")  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, help="what OMP_NUM_THREADS says")
    parser.add_argument("--corpus", type=_folder, default=CORPUS, help="another folder of programs")
    parser.add_argument("-o", "--out", type=Path, metavar="FOLDER")
    parser.add_argument("--table", default="table", help="what the files in FOLDER are called")
    return parser


if __name__ == "__main__":
    sys.exit(main())
