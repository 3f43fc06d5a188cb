"""Try ``leakguard fix`` once on each program, and print a table of what came.

``python -m regression_tests.benchmarks.fixes -o reports/fixes``
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regression_tests.benchmarks.playing.page import keep_page, version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HERE = Path(__file__).parent
_RUN = "found.jsonl"
_OUTCOMES = {"FIXED": "fixed", "LESS": "less", "NOT FIXED": "no", "BROKE THE PROGRAM": "broke"}
_TOLD = re.compile(rf"^({'|'.join(_OUTCOMES)}): (.*)$", re.M)
_SIDE = re.compile(r"^  (before|after) .*?([\d.,]+ (?:[kMGT]?B|objects)) per generation", re.M)
_FIX = ["--limit", "90", "--tries", "5"]
_PATIENCE = 900  # seconds for one program: its runs without and with five changes


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


def manifest() -> Iterator[tuple[str, bool]]:
    """Yield each program, and whether it has a guard of its own."""
    listed = tomllib.loads((_HERE / "programs.toml").read_text("utf-8"))
    for kind, own in (("unprepared", False), ("own_guard", True)):
        yield from ((path, own) for path in listed[kind])


def played(program: tuple[str, bool], said: Path | None) -> Row:
    """Return what came of one program, in a folder of its own."""
    path, own = program
    script = _HERE.parent / path
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "program"
        folder.mkdir()
        shutil.copy2(script, folder)
        command = [sys.executable, script.name, "leak"]
        watched = command if own else [sys.executable, "-m", "leakguard", "run", "-o", _RUN,
                                       script.name, "leak"]  # fmt: skip
        try:
            done = _ended(watched, folder)
            runs = sorted(folder.glob("*.jsonl"))
            if not runs:
                return Row(script.stem, "no run", done.stderr.strip().splitlines()[-1:][0])
            words = [sys.executable, "-m", "leakguard", "fix", runs[0].name, *_FIX, "--", *command]
            tried = _ended(words, folder)
        except subprocess.TimeoutExpired:
            return Row(script.stem, "no end", f"within {_PATIENCE} s")
    if said:
        said.mkdir(parents=True, exist_ok=True)
        (said / f"{script.stem}.txt").write_text(tried.stderr + tried.stdout, encoding="utf-8")
    return row_of(script.stem, tried.stderr)


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


def _ended(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, errors="replace", timeout=_PATIENCE, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
