"""Make every fault real and print a table: the fault, what happened, and the test that shows it.

Run with ``python -m regression_tests.benchmarks.faults -o reports/faults``; some minutes.
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
    return "as the test says" if skipped is None else f"not tried: {skipped.get('message')}"


def rows(found: dict[tuple[str, str], str]) -> list[tuple[str, str, str, str]]:
    """Return (group, fault, what happened, test), a row for each case of each test listed."""
    told = []
    for group, tests in TESTS.items():
        for test in tests:
            path, _, name = test.partition("::")
            module = path.removesuffix(".py").replace("/", ".")
            for (where, case), outcome in found.items():
                if where == module and case.partition("[")[0] == name:
                    told.append((group, _fault(case), outcome, f"{Path(path).name}::{name}"))
    return told


def _fault(case: str) -> str:
    """Return what a test makes happen, in words: its name, and the case it was given."""
    name, _, given = case.partition("[")
    words = name.removeprefix("test_").replace("_", " ")
    return f"{words}: {given[:-1]}" if given else words


def played(junit: Path) -> int:
    """Run every test that is listed, two at a time; return pytest's exit status."""
    tests = [test for group in TESTS.values() for test in group]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:randomly"]
    return subprocess.run([*command, f"--junitxml={junit}", *tests], check=False).returncode


def page(told: list[tuple[str, str, str, str]], facts: str) -> str:
    """Return the table."""
    cells = [tuple(cell.replace("|", "\\|") for cell in row) for row in told]
    table = [f"| {group} | {fault} | {what} | `{test}` |" for group, fault, what, test in cells]
    head = (
        "| what goes wrong | fault, and what is promised then | outcome | test |\n|---|---|---|---|"
    )
    return "\n".join(["# Faults made real", "", facts, "", head, *table, ""])


def main() -> int:
    """Make all of them real, write the page, and fail where one was not survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interrupts", type=int, default=1000)
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = interrupted(Path(folder) / "run.jsonl", given.interrupts)
        readable = leakguard.load(Path(folder) / "run.jsonl").finished
        status = played(Path(folder) / "junit.xml")
        table = rows(outcomes(Path(folder) / "junit.xml"))
    survived = sum(what == "as the test says" for _, _, what, _ in table)
    facts = (
        f"{len(table)} faults, {survived} as their tests promise. KeyboardInterrupt at "
        f"{told.sent:,} random moments of a watched loop: {told.received:,} reached the program, "
        f"{told.left_open} left a phase open or the collector off, and the run file "
        f"{'was' if readable else 'was NOT'} whole at the end."
    )
    text = page(table, facts)
    print(text)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "table.md").write_text(text, encoding="utf-8")
    return int(bool(status) or told.received != told.sent or told.left_open > 0 or not readable)


if __name__ == "__main__":
    sys.exit(main())
