"""Run programs written by strangers once and print what leakguard says of them, as it comes.

``python -m regression_tests.benchmarks.first_sight FOLDER -o reports/leakbench/first_sight_N``
``--unprepared`` plays scripts that know nothing of leakguard under ``leakguard run``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import leakguard
from regression_tests.benchmarks.first_sight import page
from regression_tests.benchmarks.first_sight.script import Unreadable, scripts_of
from regression_tests.benchmarks.leakbench.program import Planted
from regression_tests.benchmarks.leakbench.score import Case, said_by
from regression_tests.benchmarks.playing import failure_of, keep_table

Side = tuple[Planted, bool]
#: What comes before the options and the script where it knows nothing of leakguard.
UNPREPARED = ["-m", "leakguard", "run"]


def main() -> int:
    """Run, judge, print; write the folder of ``-o``. Exit status 2 when a truth is unreadable."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--patience", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--only", default="", metavar="NAME", help="scripts with this in it")
    parser.add_argument("--unprepared", action="store_true", help="under `leakguard run`")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the run files here")
    options = parser.parse_args()
    try:
        scripts = [s for s in scripts_of(options.folder) if options.only in s.name]
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        runs = options.runs or Path(scratch)
        watch = UNPREPARED if options.unprepared else []
        run = partial(case_of, watch=watch, runs=runs, patience=options.patience)
        cases = list(pool.map(run, sides(scripts)))
    text = page.page(cases, version(), watched(options.unprepared))
    print(text)
    if options.out:
        keep_table(options.out, text, "regression_tests.benchmarks.first_sight")
    return 0


def sides(scripts: list[Planted]) -> list[Side]:
    """Return every script with each of its sides."""
    return [(s, leak) for s in scripts for leak in ((True, False) if s.truths else (False,))]


def watched(unprepared: bool) -> str:
    """Return who set up the guard, in words."""
    return "unprepared under `leakguard run`" if unprepared else "the guard as its author set it up"


def case_of(side: Side, watch: Sequence[str], runs: Path, patience: float) -> Case:
    """Run one side of a script, and return what leakguard says of the file that it leaves."""
    script, leak = side
    word = "leak" if leak else "clean"
    file = runs / f"{script.name}-{word}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    output = ["-o", str(file)] if watch else []
    command = [sys.executable, *watch, *output, script.file, word]
    failure = failure_of(command, patience, variables={"RUN_FILE": str(file)})
    if not failure:
        try:
            report = leakguard.diagnose(leakguard.load(file))
            said = tuple(map(said_by, report.findings))
            return Case("leakguard", script, leak, said, None, None, report.verdict)
        except Exception as error:  # no answer is an answer, and the table says it
            failure = f"{type(error).__name__}: {error}"
    return Case("leakguard", script, leak, (), None, failure)


def version() -> str:
    """Return the commit that is judged; ``dirty`` where the checkout differs from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
