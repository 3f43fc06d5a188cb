"""The plugin beside others, and a run that does not use it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

TWO_BUDGETS = """
import random
import pytest

KEPT = []

@pytest.mark.memory_budget(growth="100 kB", generations=4, retries=0)
def test_kept():
    bytes(300_000)

@pytest.mark.memory_budget(growth="100 kB", generations=4, retries=0)
def test_leak():
    KEPT.append(bytes(300_000 + random.randrange(1000)))
"""

WITH_MEMRAY = """
import pytest

KEPT = []

@pytest.mark.limit_memory("100 MB")
@pytest.mark.memory_budget(growth="100 kB", generations=4, retries=0)
def test_both_kept():
    bytes(300_000)

@pytest.mark.limit_leaks("5 MB")
@pytest.mark.memory_budget(growth="100 kB", generations=4, retries=0)
def test_no_leak_of_either(memory_budget):
    for _ in memory_budget.generations(4):
        bytes(300_000)

@pytest.mark.limit_memory("1 MB")
@pytest.mark.memory_budget(growth="100 MB", generations=4, retries=0)
def test_memray_fails():
    bytes(50_000_000)
"""


@pytest.mark.parametrize(
    "options", [("-p", "xdist", "-n", "2"), ("-p", "xdist", "-n", "2", "-p", "pytest_randomly")]
)
def test_workers_and_shuffling_change_no_outcome_and_reports_are_written_once(suite, options):
    if "pytest_randomly" in options:
        pytest.importorskip("pytest_randomly")
    ran = suite(TWO_BUDGETS, "--leakguard-report=memory", *options)
    assert (ran.of("test_kept"), ran.of("test_leak")) == ("passed", "failure")
    told = re.search(r"growth per generation: \+(\d+) kB", ran.message("test_leak"))
    assert told is not None and 280 < int(told[1]) < 330
    assert ran.printed.count("leakguard: 1 of 2 memory budgets broken") == 1
    written = json.loads((ran.folder / "memory" / "outcomes.json").read_text())
    assert sorted(budget["test"] for budget in written["budgets"]) == [
        "test_own.py::test_kept",
        "test_own.py::test_leak",
    ]


def test_limits_of_pytest_memray_hold_on_the_same_test(suite):
    pytest.importorskip("pytest_memray")
    ran = suite(WITH_MEMRAY, "-p", "pytest_memray.plugin", "--memray")
    assert ran.of("test_both_kept") == "passed", ran.message("test_both_kept")
    assert ran.of("test_no_leak_of_either") == "passed", ran.message("test_no_leak_of_either")
    assert ran.of("test_memray_fails") == "failure"
    assert "leakguard: 3 memory budgets kept" in ran.printed


def test_tests_that_leave_most_behind_are_listed_on_demand(suite):
    body = """
KEPT = []

def test_first(): pass

def test_large():
    KEPT.append(bytearray(5_000_000))

def test_file():
    KEPT.append(open(__file__))
"""
    ran = suite(body, "--leakguard")
    assert ran.of("test_large") == "passed"
    assert "leakguard: 2 of 3 tests left something behind" in ran.printed
    assert "+5.0 MB  test_own.py::test_large (bytearray +5.0 MB" in ran.printed
    assert "test_own.py::test_file (1 open files" in ran.printed


def test_defaults_come_from_the_ini_file(suite):
    body = TWO_BUDGETS.replace('growth="100 kB", generations=4, retries=0', "")
    ini = "leakguard_growth = 10 kB\nleakguard_generations = 4\nleakguard_retries = 0"
    ran = suite(body, ini=ini)
    assert "limit: at most 10.0 kB" in ran.message("test_leak")
    assert "after 4 generations\n" in ran.message("test_leak")


def test_number_in_the_ini_file_that_is_none_is_named(suite):
    ran = suite(TWO_BUDGETS, ini="leakguard_generations = many")
    assert "leakguard_generations = 'many' in the ini file is no number" in ran.message("test_kept")


def test_run_without_a_budget_loads_nothing_and_prints_nothing(suite):
    body = """
import sys

def test_idle():
    heavy = ("leakguard.guard", "leakguard.capture", "leakguard.analysis", "psutil", "msgspec",
             "torch", "numpy", "rich")
    assert [name for name in heavy if name in sys.modules] == []
"""
    ran = suite(body)
    assert ran.of("test_idle") == "passed", ran.message("test_idle")
    assert "leakguard:" not in ran.printed


def test_import_of_the_plugin_loads_next_to_nothing():
    code = (
        "import sys, leakguard.integrations.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('leakguard.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "capture" not in loaded
    assert "analysis" not in loaded
