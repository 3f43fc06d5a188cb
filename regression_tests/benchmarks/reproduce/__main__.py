"""Try ``leakguard reproduce`` once on each N-th program of ``fixes``, and print a table.

``python -m regression_tests.benchmarks.reproduce -o reports/reproduce``
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regression_tests.benchmarks.fixes.programs import manifest, python, recorded
from regression_tests.benchmarks.playing.page import keep_page, version

_TEST = "test_leak.py"
_TOLD = re.compile(
    r"^leakguard: (?P<after>\d+) lines, (?P<before>\d+) before; (?P<runs>\d+) tests ran for "
    r"(?P<seconds>\d+) s$",
    re.M,
)
_WHAT = re.compile(r"^leakguard: (?P<what>.*) fails on it; making the test", re.M)
_ARGUMENTS = re.compile(r"^sys\.argv\[1:\] = .*$", re.M)


@dataclass(frozen=True)
class Row:
    """One program: whether a test fails on its leak, what it repeats, its size and its twin."""

    program: str
    reproduced: bool
    what: str
    before: str = ""
    after: str = ""
    runs: str = ""
    seconds: str = ""
    twin: str = ""


def main() -> int:
    """Try the programs, print the table; write the folder of ``-o``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=3, metavar="N", help="take each N-th program")
    parser.add_argument("--only", default="", metavar="NAME", help="programs with this in it")
    parser.add_argument("--tries", default="40", metavar="N", help="tests that may run")
    parser.add_argument("--limit", default="60", metavar="SECONDS", help="for one test")
    options = parser.parse_args()
    judged = version()  # now: the checkout may change while the programs run
    programs = [each for each in list(manifest())[:: options.every] if options.only in each[0]]
    bounds = ["--tries", options.tries, "--limit", options.limit]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(partial(played, bounds=bounds, out=options.out), programs))
    text = page(rows, judged)
    print(text)
    if options.out:
        keep_page(options.out / "table.md", text, "regression_tests.benchmarks.reproduce")
    return 0


def played(program: tuple[str, bool], bounds: Sequence[str], out: Path | None) -> Row:
    """Return what came of one program, in a folder of its own; its test goes to ``out``."""
    name = Path(program[0]).stem
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run = recorded(*program, folder)
        if not isinstance(run, str):
            return Row(name, False, run.failure or run.last)
        tried = python(["-m", "leakguard", "reproduce", run, "-o", _TEST, *bounds], folder)
        row = row_of(name, tried.err or tried.failure or "")
        if not row.reproduced:
            return row
        if out:
            (out / "tests").mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / _TEST, out / "tests" / f"{name}.py.txt")
        return Row(**{**vars(row), "twin": _twin(folder)})


def row_of(name: str, said: str) -> Row:
    """Return the row of a program from what ``leakguard reproduce`` wrote to standard error."""
    told, what = _TOLD.search(said), _WHAT.search(said)
    if told is None or what is None:
        last = (said.strip().splitlines() or ["nothing was said"])[-1]
        return Row(name, False, last.removeprefix("leakguard: ").replace("|", "\\|"))
    return Row(name, True, what["what"], *told.group("before", "after", "runs", "seconds"))


def page(rows: Sequence[Row], judged: str) -> str:
    """Return the sums and a row for each program, in Markdown."""
    found = [row for row in rows if row.reproduced]
    before, after = (sum(int(getattr(row, side)) for row in found) for side in ("before", "after"))
    passing = sum(row.twin == "passes" for row in found)
    lines = [
        f"`leakguard reproduce` at {judged}, once on each of {len(rows)} leaking programs: "
        f"{len(found)} tests fail on the leak, {len(rows) - len(found)} programs have none.",
        "",
        f"The tests had {before} lines when they first failed, and {after} in the end. The twin is "
        "the same test",
        f"with the program's argument for its clean version: {passing} of {len(found)} pass. The "
        "seconds are those of all tests",
        "that ran, with other work beside them.",
        "",
        "| program | test | what it repeats, or why there is none | lines before | after | tests "
        "run | seconds | clean twin |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.program} | {'yes' if r.reproduced else 'no'} | {r.what} | {r.before} | {r.after} | "
        f"{r.runs} | {r.seconds} | {r.twin} |"
        for r in rows
    ]
    return "\n".join([*lines, ""])


def _twin(folder: Path) -> str:
    """Run the test with the argument of the clean version, and return what came."""
    test = folder / _TEST
    test.write_text(_ARGUMENTS.sub("sys.argv[1:] = ['clean']", test.read_text("utf-8")), "utf-8")
    (folder / "conftest.py").write_text("import sys\nsys.argv[1:] = ['clean']\n", "utf-8")
    end = python(["-m", "pytest", "-q", "-p", "no:cacheprovider", _TEST], folder)
    if end.failure is None:
        return "passes"
    if end.failure.startswith("no end"):
        return "no end"
    return "fails" if "memory budget broken" in end.out else "has an error"


if __name__ == "__main__":
    sys.exit(main())
