"""What a broken budget calls things: the fixture, the limit, threads, files, and older objects."""

from __future__ import annotations

import re

import pytest

BODY = """
import threading

import pytest

KEPT = []


class Env:
    def __init__(self):
        self.data = bytearray(100_000)


class Trainer:
    def __init__(self):
        self.history = []


@pytest.fixture
def trainer():
    return Trainer()


@pytest.fixture(scope="module")
def shared():
    return Trainer()


@pytest.mark.memory_budget(constant={Env: 0}, generations=4, retries=1)
def test_leak():
    KEPT.append(Env())


@pytest.mark.memory_budget(constant={"Env": 0}, generations=4, retries=1)
def test_leak_in_a_fixture(trainer):
    trainer.history.append(Env())


@pytest.mark.memory_budget(growth="50 kB", generations=4, retries=1)
def test_leak_in_a_shared_fixture(shared):
    shared.history.append(Env())


@pytest.mark.memory_budget(constant={"Env": 0}, generations=4, retries=1)
def test_healthy():
    Env()


@pytest.mark.memory_budget(threads=0, open_files=0, generations=4, retries=0)
def test_handles(tmp_path):
    event = threading.Event()
    threading.Thread(target=event.wait, daemon=True, name="feeder").start()
    KEPT.append((event, open(tmp_path / "log.txt", "w")))


@pytest.mark.memory_budget(generations=4)
def test_once(tmp_path):
    (tmp_path / "made").mkdir()
"""


def test_a_budget_names_what_the_user_knows(suite):
    ran = suite(BODY)
    assert "Held by: fixture trainer.history[*]" in ran.message("test_leak_in_a_fixture")
    assert "Held by: fixture shared.history[*]" in ran.message("test_leak_in_a_shared_fixture")
    assert "_pytest" not in ran.message("test_leak_in_a_fixture")
    assert "Threads that are new: feeder (4)" in ran.message("test_handles")
    opened = re.compile(r"Open files that are new:[\sE]+\S+log.txt[\sE]+\(4\)")  # E begins a line
    assert opened.search(ran.message("test_handles"))
    assert "2 of 3 limits broken" in ran.message("test_handles")
    assert "this was not its first round" in ran.printed
    assert ran.of("test_once") == "failure"
    wide = (line for line in ran.printed.splitlines() if line[:2] == "E " and len(line) > 80)
    assert [line for line in wide if "/" not in line] == []  # a path stays whole


def test_instances_that_other_tests_left_are_never_a_test_s_own(suite):
    ran = suite(BODY, "-k", "leak or healthy")
    assert ran.of("test_healthy") == "passed", ran.message("test_healthy")
    said = re.sub(r"\s+(?:E\s+)?", " ", ran.message("test_leak_in_a_fixture"))
    assert "8 of them older than the test, left by test_own.py::test_leak" in said


@pytest.mark.parametrize("ci", ["", "true"])
def test_the_summary_s_line_names_the_limit_and_the_holder(suite, ci):
    """Where the variable ``CI`` is set, pytest writes the whole message below that line."""
    ran = suite(BODY, "-k", "leak_in_a_fixture", COLUMNS="150", CI=ci, BUILD_NUMBER="")
    line, *_ = re.findall(r"^FAILED test_own.*$", ran.printed, re.MULTILINE)
    assert line.endswith("- live Env 8, always 0, held by fixture trainer.history[*]")
