"""Try ``leakguard fix`` once on each program, and print a table of what came.

``python -m regression_tests.benchmarks.fixes -o reports/fixes``
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regression_tests.benchmarks.fixes.programs import manifest, python, recorded
from regression_tests.benchmarks.playing.page import keep_page, version

_OUTCOMES = {"FIXED": "fixed", "LESS": "less", "NOT FIXED": "no", "BROKE THE PROGRAM": "broke"}
_TOLD = re.compile(rf"^({'|'.join(_OUTCOMES)}): (.*)$", re.M)
_SIDE = re.compile(r"^  (before|after) .*?([\d.,]+ (?:[kMGT]?B|objects)) per generation", re.M)
_FIX = ["--limit", "90", "--tries", "5"]


@dataclass(frozen=True)
class Row:
    """One program: the best outcome, the change of it, the rates and how many were tried."""

    program: str
    outcome: str
    change: str = ""
    before: str = ""
    after: str = ""
    tried: int = 0


def main() -> int:
    """Run every program, print the table; write the folder of ``-o``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", metavar="NAME", help="programs with this in it")
    parser.add_argument("--said", type=Path, metavar="FOLDER", help="keep what was printed here")
    options = parser.parse_args()
    judged = version()  # now: the checkout may change while the programs run
    programs = [each for each in manifest() if options.only in each[0]]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(partial(played, said=options.said), programs))
    text = page(rows, judged)
    print(text)
    if options.out:
        keep_page(options.out / "table.md", text, "regression_tests.benchmarks.fixes")
    return 0


def played(program: tuple[str, bool], said: Path | None) -> Row:
    """Return what came of one program, in a folder of its own."""
    name, script = Path(program[0]).stem, Path(program[0]).name
    with tempfile.TemporaryDirectory() as folder:
        run = recorded(*program, Path(folder))
        if not isinstance(run, str):
            return Row(name, "no run", run.failure or run.last)
        words = ["-m", "leakguard", "fix", run, *_FIX, "--", sys.executable, script, "leak"]
        tried = python(words, Path(folder))
    if said:
        said.mkdir(parents=True, exist_ok=True)
        (said / f"{name}.txt").write_text(tried.err + tried.out, encoding="utf-8")
    return row_of(name, tried.err or tried.failure or "")


def row_of(name: str, said: str) -> Row:
    """Return the row of a program from what ``leakguard fix`` wrote to standard error."""
    found = list(_TOLD.finditer(said))
    if not found:
        last = (said.strip().splitlines() or ["nothing was said"])[-1].removeprefix("leakguard: ")
        proposed = "no change is proposed" not in last
        return Row(name, "unusable" if proposed else "no proposal", last)
    best = next((f for f in found if f[1] == "FIXED"), found[-1])
    part = said[best.start() :]
    sides = dict(_SIDE.findall(part)[:2])
    tried = said.count("leakguard: trying")
    title = best[2].replace("|", "\\|")
    return Row(name, _OUTCOMES[best[1]], title, sides.get("before", ""), sides.get("after", ""),
               tried)  # fmt: skip


def page(rows: Sequence[Row], judged: str) -> str:
    """Return the sums and a row for each program, in Markdown."""
    counts = Counter(row.outcome for row in rows)
    sums = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    lines = [
        f"`leakguard fix` at {judged}, once on each of {len(rows)} leaking programs: {sums}.",
        "",
        "The change is that of the best outcome. *broke* is also said of a change that makes the",
        "program print something else, as it must if the program prints the length of what leaks.",
        "",
        "| program | outcome | change, and why | before, per generation | after | tried |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.program} | {r.outcome} | {r.change} | {r.before} | {r.after} | {r.tried} |"
        for r in rows
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
