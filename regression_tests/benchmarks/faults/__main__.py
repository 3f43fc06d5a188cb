"""Make every fault real and print a table: the fault, what happened, and the test that shows it.

Run with ``python -m regression_tests.benchmarks.faults -o reports/faults``; some minutes. With
``--results FOLDER`` what each group came to is kept there, and is not played again: so it can be
done in several goes. What was not as its test promises is printed by name, and on stderr why.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import leakguard
from regression_tests.benchmarks.faults.interrupts import interrupted
from regression_tests.benchmarks.faults.listed import TESTS

_KEPT = "as the test says"
# Seconds that a test may take, instead of pytest's own limit here: the machine may be busy.
_PATIENCE = 3600

Row = tuple[str, str, str, str]


def outcomes(junit: Path) -> dict[tuple[str, str], str]:
    """Return what became of each case: (module, name with its case) to a word."""
    return {
        (case.get("classname", ""), case.get("name", "")): _outcome(case)
        for case in ElementTree.parse(junit).iter("testcase")
    }


def _outcome(case: ElementTree.Element) -> str:
    for tag in ("failure", "error"):
        if case.find(tag) is not None:
            return "NOT survived"
    skipped = case.find("skipped")
    return _KEPT if skipped is None else f"not tried: {skipped.get('message')}"


def rows(found: dict[tuple[str, str], str], groups: dict[str, tuple[str, ...]]) -> list[Row]:
    """Return (group, fault, what happened, test), a row for each case of each test listed.

    A test without a case, as where its file cannot be read, has a row that says so.
    """
    told = []
    for group, tests in groups.items():
        for test in tests:
            path, _, name = test.partition("::")
            module, shown = path.removesuffix(".py").replace("/", "."), f"{Path(path).name}::{name}"
            told += [
                (group, _fault(case), outcome, shown)
                for (where, case), outcome in found.items()
                if where == module and case.partition("[")[0] == name
            ] or [(group, _fault(name), "no result", shown)]
    return told


def _fault(case: str) -> str:
    """Return what a test makes happen, in words: its name, and the case it was given."""
    name, _, given = case.partition("[")
    words = name.removeprefix("test_").replace("_", " ")
    return f"{words}: {given[:-1]}" if given else words


def played(folder: Path) -> list[Row]:
    """Run every test that is listed, group by group, two at a time, where no result is kept."""
    told = []
    for number, (group, tests) in enumerate(TESTS.items(), 1):
        junit = folder / f"{number}.xml"
        if not junit.exists():
            _play(tests, junit)
        told += rows(outcomes(junit), {group: tests})
    return told


def _play(tests: tuple[str, ...], junit: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:randomly"]
    options = ["-m", "not heavy", f"--timeout={_PATIENCE}", f"--junitxml={junit}"]
    subprocess.run([*command, *options, *tests], check=False, stdout=sys.stderr)


def page(told: list[Row], facts: str) -> str:
    """Return the table."""
    cells = [tuple(cell.replace("|", "\\|") for cell in row) for row in told]
    table = [f"| {group} | {fault} | {what} | `{test}` |" for group, fault, what, test in cells]
    head = (
        "| what goes wrong | fault, and what is promised then | outcome | test |\n|---|---|---|---|"
    )
    return "\n".join(["# Faults made real", "", facts, "", head, *table, ""])


def broken(told: list[Row]) -> list[str]:
    """Return the faults that did not end as their tests promise, each with its test."""
    return [f"{fault} ({what}; {test})" for _, fault, what, test in told if what != _KEPT]


def main() -> int:
    """Make all of them real, write the page, and fail where one was not survived."""
    given = _parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = interrupted(Path(folder) / "run.jsonl", given.interrupts)
        readable = leakguard.load(Path(folder) / "run.jsonl").finished
        kept = given.results or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        table = played(kept)
    failed = broken(table)
    facts = (
        f"{len(table)} faults, {len(table) - len(failed)} as their tests promise. "
        f"KeyboardInterrupt at {told.sent:,} random moments of a watched loop: "
        f"{told.received:,} reached the program, {told.left_open} left "
        f"a phase open or the collector off, and the run file "
        f"{'was' if readable else 'was NOT'} whole at the end."
    )
    named = "".join(f"\n\nNot as promised: {name}" for name in failed)
    text = page(table, facts + named)
    print(text)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "table.md").write_text(text, encoding="utf-8")
    return int(bool(failed) or told.received != told.sent or told.left_open > 0 or not readable)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interrupts", type=int, default=1000)
    parser.add_argument("--results", type=Path, help="keep what each group came to here")
    parser.add_argument("-o", "--out", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
