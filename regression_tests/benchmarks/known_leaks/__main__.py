"""Install the release that has a known leak and the first that has not, and watch both leak or not.

``python -m regression_tests.benchmarks.known_leaks -o reports/known_leaks [ID ...]`` installs each
pair with ``pip install --target`` into a folder that is thrown away, calls the same function in
both under a guard, and writes what was said. A play is right when the leaky release is told and the
fixed one is not, by the run and by ``leakguard audit``. With ids, the table keeps the rows of the
other plays. Exit status 1 when one is not right.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from leakguard import diagnose, load
from leakguard.analysis.audit import audit
from leakguard.analysis.knowledge.known_leaks import known_leaks
from leakguard.model import Report
from leakguard.model.known_leak import Package
from leakguard.model.units import format_bytes
from regression_tests.benchmarks.known_leaks import player

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

COMMAND = "python -m regression_tests.benchmarks.known_leaks -o reports/known_leaks\n"
_ROOT = Path(__file__).parents[3]
_SECONDS = 240  # of one run; a play that takes longer makes too many calls


@dataclass(frozen=True)
class Played:
    """What one release did: the report of its run, or why there is none, and the audit of it."""

    version: str
    report: Report | None
    problem: str
    audited: bool

    @property
    def told(self) -> bool:
        """True where the run is called a leak, or suspected to be one."""
        return self.report is not None and self.report.verdict in ("leak", "suspect")

    @property
    def words(self) -> str:
        """A cell of the table."""
        if self.report is None:
            return f"{self.version}: {self.problem}"
        first = next(iter(self.report.findings), None)
        size = first.bytes_per_generation if first else None
        grown = f" {format_bytes(size)} per generation" if size else ""
        what = f" {first.kind}" if first else ""
        return f"{self.version}: {self.report.verdict}{what}{grown}"


def played(leak: str, play: dict[str, Any], version: str, beside: list[str]) -> Played:
    """Install one release and what it needs, call the function, and judge the run."""
    library = next(known.library for known in known_leaks() if known.id == leak)
    with tempfile.TemporaryDirectory(prefix="known-leak-") as place:
        folder, packages = Path(place), Path(place) / "packages"
        problem = _install([f"{library}=={version}", *beside], packages)
        if problem:
            return Played(version, None, problem, audited=False)
        audited = _audit(packages, leak)
        (folder / "code.py").write_text(play["code"], encoding="utf-8")
        run = folder / "run.jsonl"
        problem = _run(
            [sys.executable, str(Path(player.__file__)), "code.py", str(play["calls"]), str(run)],
            folder,
            {"PYTHONPATH": os.pathsep.join([str(packages), str(_ROOT)])},
        )
        report = None if problem else diagnose(load(run))
    return Played(version, report, problem, audited)


def _install(requirements: list[str], folder: Path) -> str:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
               "--only-binary", ":all:", "--target", str(folder), *requirements]  # fmt: skip
    return _run(command, _ROOT, {"PIP_DISABLE_PIP_VERSION_CHECK": "1"})


def _audit(folder: Path, leak: str) -> bool:
    found = distributions(path=[str(folder)])
    packages = [Package(each.metadata["Name"], each.version) for each in found]
    return any(each.leak.id == leak for each in audit(str(folder), packages).exposures)


def _run(command: list[str], folder: Path, more: dict[str, str]) -> str:
    """Return why a command failed, in a few words; nothing where it did not."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **more}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              check=False, timeout=_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not done after {_SECONDS} s"
    lines = [line for line in done.stderr.splitlines() if line and "notice" not in line]
    return lines[-1][:90] if done.returncode and lines else "failed" if done.returncode else ""


def row(leak: str, leaky: Played, fixed: Played) -> str:
    """Return a row of the table: what both releases did, and whether that is right."""
    return f"| {leak} | {leaky.words} | {fixed.words} | {_judged(leaky, fixed)} |"


def _judged(leaky: Played, fixed: Played) -> str:
    if leaky.report is None or fixed.report is None:
        return "not played"
    wrong = [] if leaky.told else ["the leaky release was not told"]
    wrong += ["the fixed release was told"] if fixed.told else []
    wrong += [] if (leaky.audited, fixed.audited) == (True, False) else ["audit"]
    return "; ".join(wrong) or "right"


def page(rows: list[str]) -> str:
    """Return the table with its sum in Markdown."""
    right = sum(line.endswith("| right |") for line in rows)
    absent = sum(line.endswith("| not played |") for line in rows)
    return "\n".join((
        f"{right} of {len(rows)} plays: the release with the leak was told, the first without it "
        f"was not, by the run and by `leakguard audit`. {absent} could not be played here. The "
        f"list has {len(known_leaks())} known leaks; the others were not played.",
        "",
        f"Each release was called in a loop of a few generations, under CPython "
        f"{sys.version.split()[0]}.",
        "",
        "| known leak | release that has it | first release without it | judged |",
        "|---|---|---|---|",
        *rows,
        "",
    ))  # fmt: skip


def main() -> int:
    """Play, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="known leaks; default: all that have a play")
    parser.add_argument("-o", dest="out", type=Path)
    options = parser.parse_args()
    plays = tomllib.loads(Path(__file__).with_name("plays.toml").read_text("utf-8"))["play"]
    table = None if options.out is None else options.out / "table.md"
    rows = {} if table is None or not options.ids else _kept(table)
    for play in plays:
        leak = play["leak"]
        if options.ids and leak not in options.ids:
            continue
        beside = play.get("with", [])
        leaky = played(leak, play, play["leaky"], beside)
        fixed = played(leak, play, play["fixed"], play.get("with_fixed", beside))
        rows[leak] = row(leak, leaky, fixed)
        print(rows[leak], file=sys.stderr, flush=True)
        if table is not None:  # each time: a play takes minutes, and may be stopped
            table.parent.mkdir(parents=True, exist_ok=True)
            listed = [rows[play["leak"]] for play in plays if play["leak"] in rows]
            table.write_text(page(listed), encoding="utf-8")
            table.with_name("COMMAND").write_text(COMMAND, encoding="utf-8")
    return int(not all(line.endswith("| right |") for line in rows.values()))


def _kept(table: Path) -> dict[str, str]:
    """Return the rows of a table that was written before, by known leak."""
    lines = table.read_text("utf-8").splitlines() if table.is_file() else []
    cells = ((line.split(" | ")[0].removeprefix("| "), line) for line in lines)
    known = {leak.id for leak in known_leaks()}
    return {leak: line for leak, line in cells if leak in known}


if __name__ == "__main__":
    sys.exit(main())
