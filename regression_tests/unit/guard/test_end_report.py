"""What a guard says when its run is over, and while a leak is being proved."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest

from leakguard import LeakGuard, UsageError, render
from leakguard.analysis import diagnose
from leakguard.live.diagnosing import Alarm
from leakguard.model import Finding, Run, RunInfo
from leakguard.testing import FakeClock


def train(guard, *, leaks, generations=8):
    kept = []
    with guard:
        for generation in guard.generations(range(1, generations + 1)):
            with guard.phase("train"):
                made = [bytearray(100_000) for _ in range(20)]
                if leaks:
                    kept.append((generation, made))
            yield generation


def said(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


_LEAKING = """
import sys
from leakguard import LeakGuard
from leakguard.testing import FakeClock
from test_end_report import train
list(train(LeakGuard(out=sys.argv[1], clock=FakeClock()), leaks=True))
"""


def test_leaking_run_says_verdict_fix_holder_and_next_step(tmp_path):
    # A process of its own, where nothing grows that other tests have left; and a clock that stands
    # still, by which looks cost nothing.
    done = subprocess.run(
        [sys.executable, "-c", _LEAKING, tmp_path / "run.jsonl"],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("leakguard: LEAK: In train, since generation 1, ")
    starts = [line.split(":")[0].strip() for line in lines if line.startswith("  ")]
    assert [s for s in starts if s in {"Fix", "Held by"}] == ["Fix", "Held by"]
    assert lines[-1] == f"  Evidence: leakguard report {tmp_path}/run.jsonl"


def test_healthy_run_says_one_sentence_and_what_would_not_show(capsys):
    list(train(LeakGuard(), leaks=False))
    verdict, unseen = " ".join(map(str.strip, said(capsys))).split("; ")
    assert verdict == "leakguard: STABLE: nothing grows without bound over 8 generations"
    assert unseen.startswith("growth below ")


def test_nothing_is_said_where_nobody_wants_it_or_the_log_has_it(capsys):
    list(train(LeakGuard(report=None, clock=FakeClock()), leaks=True, generations=12))
    log = io.StringIO()
    list(train(LeakGuard(log=log, clock=FakeClock()), leaks=True, generations=12))
    assert said(capsys) == []
    assert "LEAK DETECTED:" in log.getvalue()


def test_other_processes_of_a_healthy_training_keep_silent(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    list(train(LeakGuard(clock=FakeClock()), leaks=False))
    assert said(capsys) == []
    list(train(LeakGuard(clock=FakeClock()), leaks=True, generations=12))
    assert said(capsys)[0].startswith("leakguard: LEAK")


_QUIETLY = """
import random, sys
from leakguard import LeakGuard
guard, kept = LeakGuard(), []
random.seed(1); before = random.getstate()
with guard:
    for generation in guard.generations(range(8)):
        with guard.phase("train"):
            kept.append([bytearray(100_000) for _ in range(20)])
assert random.getstate() == before
print([name for name in ("rich", "jinja2", "click", "numpy") if name in sys.modules])
"""


def test_end_report_loads_no_library_and_draws_no_random_number():
    done = subprocess.run(
        [sys.executable, "-c", _QUIETLY], capture_output=True, text=True, check=False
    )
    assert "leakguard: LEAK" in done.stderr
    assert done.stdout.strip() == "[]", done.stderr


def test_alarm_rings_once_for_a_leak_before_the_run_is_over():
    reports = []
    guard = LeakGuard(report=None, clock=FakeClock(), on_leak=reports.append)
    heard = [(generation, len(reports)) for generation in train(guard, leaks=True)]
    assert len(reports) == 1
    assert reports[0].verdict == "leak"
    assert heard[-1] == (8, 1)


def test_alarm_rings_once_for_a_leak_that_is_told_by_another_type_later(monkeypatch):
    found = [("app.Record", None), ("app.Record", "app.all[*]"), ("app.Logger", "app.all[*]"),
             ("app.Logger", "app.all[*]"), ("app.Socket", "app.open[*]")]  # fmt: skip
    reports = []
    for type_, held_by in found:
        finding = Finding("f", "instances", "leak", "growing", "", type=type_, held_by=held_by)
        reports.append(replace(diagnose(Run(RunInfo("guard"), ())), findings=(finding,)))
    coming, heard = iter(reports), []
    monkeypatch.setattr("leakguard.live.diagnosing.diagnose_within", lambda run: next(coming))
    alarm = Alarm(heard.append)
    for looks in range(1, len(reports) + 1):
        alarm.listen(SimpleNamespace(looks=looks, run=lambda: None))
        alarm.ring()
    assert heard == [reports[0], reports[4]]


def test_alarm_is_silent_while_a_healthy_run_goes_on():
    reports = []
    list(train(LeakGuard(report=None, clock=FakeClock(), on_leak=reports.append), leaks=False))
    assert reports == []


def test_what_an_alarm_raises_ends_the_loop():
    class EnoughError(Exception):
        pass

    def stop(report):
        raise EnoughError

    loop = train(LeakGuard(report=None, clock=FakeClock(), on_leak=stop), leaks=True)
    with pytest.raises(EnoughError):
        list(loop)


@pytest.mark.parametrize("wrong", [{"report": "stdout"}, {"report": 3}, {"on_leak": "stop"}])
def test_wrong_arguments_are_refused_in_one_line(wrong):
    with pytest.raises(UsageError, match=rf"^{next(iter(wrong))}=.*"):
        LeakGuard(**wrong)


def test_log_names_the_size_from_which_it_lists_objects():
    log, kept = io.StringIO(), bytearray(2_000_000)
    with LeakGuard(log=log, large_object="1 MB", clock=FakeClock()) as guard:
        guard.snapshot("Loaded", baseline=True)
    assert len(kept) == 2_000_000
    assert "Large Objects (>= 1 MB):" in log.getvalue()


def test_report_names_the_size_from_which_the_guard_lists_objects():
    guard, kept = (
        LeakGuard(large_object="1 MB", report=None, clock=FakeClock()),
        bytearray(2_000_000),
    )
    list(train(guard, leaks=True, generations=12))
    assert len(kept) == 2_000_000
    assert "Large Objects (>= 1 MB):" in unescape(render(guard.report(), "markdown"))


def test_complaint_goes_to_standard_error_or_nowhere(capsys, monkeypatch):
    def broken(block):
        raise OSError("the log's disk is full")

    with LeakGuard(log=broken, clock=FakeClock()):
        pass
    assert said(capsys) == ["leakguard: the log cannot be written: OSError: the log's disk is full"]
    monkeypatch.setattr(sys, "stderr", None)
    with LeakGuard(log=broken, clock=FakeClock()):
        pass
    assert capsys.readouterr() == ("", "")
