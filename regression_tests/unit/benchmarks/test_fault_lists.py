"""The lists of faults name tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

from regression_tests.benchmarks.faults.listed import TESTS

ROOT = Path(__file__).parents[3]


def defined(path: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE))


def test_every_fault_that_is_listed_has_its_test():
    listed = [test.partition("::") for group in TESTS.values() for test in group]
    assert [name for path, _, name in listed if name not in defined(ROOT / path)] == []


def test_every_row_of_the_first_trial_has_its_test():
    page = (ROOT / "reports/faults/first_trial.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    there = set().union(*map(defined, (ROOT / "regression_tests").rglob("test_*.py")))
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named and set(named) <= there, row
