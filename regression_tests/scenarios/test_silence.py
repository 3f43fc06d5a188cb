"""What grows is told once and with its size, whatever kind it is of; the calm twin has no finding.

Each kind here was passed over once: a child process, cycles with the collector off, few bytes in
each round, a second leak beside a first one, garbage that the collector takes in time.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import leakguard
from leakguard.model import Report
from regression_tests.scenarios import silent_programs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


def played(name: str, side: str, folder: Path) -> Report:
    """Play a program in a process of its own and return the report of its run."""
    out = folder / "run.jsonl"
    command = [sys.executable, silent_programs.__file__, name, side, out]
    subprocess.run(command, check=True, timeout=240, capture_output=True)
    return leakguard.diagnose(leakguard.load(out))


def test_child_process_that_keeps_memory_is_a_suspect_by_its_name(tmp_path):
    report = played("child_keeps", "leak", tmp_path)
    (finding,) = report.findings
    assert (report.verdict, finding.kind) == ("suspect", "children")
    assert finding.held_by.startswith("process ")
    assert finding.bytes_per_generation == pytest.approx(400_000, rel=0.2)


def test_cycles_with_the_collector_off_are_told_as_cycles(tmp_path):
    finding = played("cycles_without_collector", "leak", tmp_path).findings[0]
    assert finding.kind == "cycles"
    assert finding.type.endswith("Link")
    assert "gc.disable()" in finding.fix


def test_one_object_of_three_kilobytes_a_round_is_a_leak(tmp_path):
    report = played("few_bytes_each", "leak", tmp_path)
    finding = report.findings[0]
    assert (report.verdict, finding.count_per_generation) == ("leak", 1)
    assert finding.held_by.endswith("KEPT[*]")


def test_two_leaks_of_a_short_run_explain_its_growth_together(tmp_path):
    report = played("two_places", "leak", tmp_path)
    places = {finding.held_by.rpartition(".")[2] for finding in report.findings if finding.held_by}
    assert places == {"FRAMES[*]", "IDLE[*]"}
    assert report.balance.rest <= 0.1 * report.balance.growth


def test_garbage_that_the_collector_takes_in_time_is_a_cost_and_no_leak(tmp_path):
    report = played("garbage_in_time", "leak", tmp_path)
    assert report.verdict == "stable"
    assert ("cycles", "inconclusive") in {(f.kind, f.verdict) for f in report.findings}


@pytest.mark.parametrize("name", silent_programs.PROGRAMS)
def test_calm_twin_has_no_finding(name, tmp_path):
    report = played(name, "clean", tmp_path)
    assert report.findings == ()
    assert report.verdict == "stable", report.headline
