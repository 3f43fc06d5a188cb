"""One later generation is traced when there is a suspect; a healthy run pays nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from leakguard import LeakGuard
from leakguard.capture.probe import Unavailable
from leakguard.errors import UsageError
from leakguard.live.inquiry import Inquiry
from leakguard.live.look import Look
from leakguard.live.traced_generation import TracedGeneration
from leakguard.live.tracing import Tracing
from leakguard.model import Finding


@pytest.fixture(autouse=True)
def without_births(monkeypatch):
    """Births name lines without a trace; these tests are about runs that have none."""
    monkeypatch.setenv("LEAKGUARD_BIRTHS", "0")


class FakeTracer:
    name = "tracemalloc"

    def __init__(self, suspects=(), *, shallow=False):
        self.stopped, self.shallow = False, shallow

    def survivors(self, suspects):
        self.suspects = suspects
        return []

    def sites(self, held_by):
        return []

    def stop(self):
        self.stopped = True


def finding(fingerprint="f", kind="instances", type_name="app.Env", **more):
    return Finding(fingerprint, kind, "leak", "growing", "r", type=type_name, **more)


def tracing(**tracers):
    return Tracing(tracers={"tracemalloc": FakeTracer, "memray": FakeTracer, **tracers})


def choose(trace, rounds, *found):
    """Ask in two rounds in a row, with the same answer."""
    trace.choose(rounds - 1, lambda: found)
    trace.choose(rounds, lambda: found)


def test_suspect_that_vanishes_with_the_next_generation_is_not_traced():
    trace = tracing()
    trace.choose(3, lambda: [finding()])
    trace.choose(4, list)
    trace.choose(5, lambda: [finding(type_name="app.Other")])
    trace.begin()
    assert not trace.running


def test_suspect_is_traced_in_the_generation_after_it_was_found():
    trace = tracing()
    trace.begin()
    assert not trace.running
    choose(trace, 3, finding())
    trace.begin()
    assert trace.running
    trace.survivors()
    trace.sites([])
    assert not trace.running


def test_two_generations_are_traced_at_the_most():
    trace = tracing()
    for rounds in (3, 10, 20):
        if trace.worth_asking(rounds):
            choose(trace, rounds, finding(str(rounds)))
            trace.begin()
            trace.sites([])
    assert not trace.worth_asking(100)


def test_memory_alone_is_asked_about_when_the_judge_has_seen_enough_of_it():
    trace = tracing()
    asked = [n for n in range(1, 12) if trace.worth_asking(n, counted=False)]
    assert asked == [9, 10, 11]
    assert trace.worth_asking(3)


def test_diagnoses_are_not_spent_on_memory_that_tells_nothing_yet():
    diagnosed = []
    diagnoses = SimpleNamespace(affordable=True, findings=lambda: diagnosed.append(1) or ())
    looker = SimpleNamespace(inquiry=Inquiry())
    traced = TracedGeneration(tracing(), looker, None, diagnoses)
    for _ in range(8):
        traced.begin()
        traced.choose(Look(None))
    assert not diagnosed
    traced.begin()
    traced.choose(Look(None))
    assert diagnosed


def test_two_findings_that_are_traced_together_leave_a_second_trace():
    trace = tracing()
    choose(trace, 3, finding("f"), finding("g", type_name="app.Pool"))
    trace.begin()
    trace.sites([])
    assert trace.worth_asking(100)


def test_trace_after_one_that_was_cut_seeks_what_that_one_did_too():
    trace = tracing()
    choose(trace, 3, finding("f"))
    trace.begin()
    trace.note_cut()
    trace.stop()
    choose(trace, 5, finding("g", type_name="app.Entry"))
    assert [suspect.type for suspect in trace._suspects] == ["app.Env", "app.Entry"]
    trace.begin()
    assert trace._running.shallow


def test_what_is_known_already_is_not_traced_again():
    trace = tracing()
    choose(trace, 3, finding(created_at="a.py:1"))
    trace.begin()
    assert not trace.running


def test_bytes_wait_until_it_is_clear_that_no_object_explains_them():
    trace = tracing()
    choose(trace, 4, finding(kind="native", type_name=None))
    trace.begin()
    assert not trace.running
    choose(trace, 6, finding(kind="native", type_name=None))
    trace.begin()
    assert trace.running


def test_other_tool_is_never_used_in_the_same_process():
    trace = tracing()
    choose(trace, 6, finding(kind="native", type_name=None))
    trace.begin()
    trace.sites([])
    choose(trace, 8, finding("g"))
    trace.begin()
    assert not trace.running
    assert "memray has traced this process" in trace.problem()
    assert trace.problem() is None


def test_bytes_may_be_traced_after_objects_were():
    trace = tracing()
    choose(trace, 3, finding())
    trace.begin()
    trace.sites([])
    choose(trace, 8, finding("g", kind="native", type_name=None))
    trace.begin()
    assert (trace.running, trace.problem()) == (True, None)


def test_without_memray_the_blocks_of_python_are_traced_and_the_reason_is_kept():
    def missing(suspects, *, shallow):
        raise Unavailable("memray is not installed")

    trace = tracing(memray=missing)
    choose(trace, 6, finding(kind="native", type_name=None, in_pools=True))
    trace.begin()
    assert (trace.running, trace.problem()) == (True, None)
    trace.sites([])
    assert trace.problem() == "memray is not installed"


def test_bytes_in_pools_are_traced_beside_objects():
    trace = tracing()
    lost = finding("n", kind="native", type_name=None, in_pools=True)
    choose(trace, 6, finding(), lost)
    trace.begin()
    assert [(s.type, s.in_pools) for s in trace._suspects] == [("app.Env", False), (None, True)]


def test_tracer_that_cannot_start_leaves_a_reason():
    def broken(suspects, *, shallow):
        raise Unavailable("memray is not installed")

    trace = tracing(tracemalloc=broken)
    choose(trace, 3, finding())
    trace.begin()
    assert (trace.running, trace.problem()) == (False, "memray is not installed")


def test_slowdown_is_measured_against_the_generations_before():
    trace = tracing()
    assert [trace.timed(seconds, False) for seconds in (2.0, 4.0, 3.0)] == [None] * 3
    assert trace.timed(9.0, True) == 3.0


def test_unknown_way_to_trace_is_refused():
    with pytest.raises(UsageError, match="use one of 'auto', 'memray', 'tracemalloc', 'off'"):
        LeakGuard(trace="always")


PROGRAM = """
    import tracemalloc
    from leakguard import LeakGuard

    class Environment:
        def __init__(self):
            self.data = bytearray(50_000)

    kept = []

    def evaluate():
        for _ in range(4):
            environment = Environment()
            if {leaks}:
                kept.append(environment)

    guard = LeakGuard({options})
    with guard:
        guard.snapshot("start", baseline=True)
        for _ in guard.generations(range(1, 9)):
            with guard.phase("evaluate"):
                evaluate()
    assert not tracemalloc.is_tracing()
    traced = [s for s in guard.run.snapshots if s.cost.tier == 3]
    print(len(traced), *[s.generation for s in traced if s.cost.slowdown > 0])
    print(*[f.created_at for f in guard.report().findings])
"""


def told(tmp_path, leaks, options=""):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(PROGRAM.format(leaks=leaks, options=options)))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    return done.stdout.splitlines()


def test_leak_is_reported_with_the_line_that_makes_it(tmp_path):
    # On a slow machine the default pays for three looks at eight generations, and for no trace.
    traced, created = told(tmp_path, leaks=True, options="max_overhead=None")
    count, *generations = traced.split()
    assert int(count) == len(generations) >= 1
    assert created == "train.py:13 in evaluate"


def test_healthy_run_is_never_traced(tmp_path):
    assert told(tmp_path, leaks=False) == ["0", ""]


def test_tracing_that_is_off_leaves_the_line_unknown(tmp_path):
    assert told(tmp_path, leaks=True, options="trace='off'") == ["0", "None"]


NATIVE = """
    import sqlite3
    from leakguard import LeakGuard

    database = sqlite3.connect(":memory:")
    database.execute("create table kept (content blob)")

    def store():
        for _ in range(40):
            database.execute("insert into kept values (?)", (bytes(50_000),))

    guard = LeakGuard()
    with guard:
        guard.snapshot("start", baseline=True)
        for _ in guard.generations(range(1, 17)):
            with guard.phase("store"):
                store()
    report = guard.report()
    print(*[f"{f.kind} {f.created_at}" for f in report.findings])
    known = {name: size for name, size in report.ledger.parts.items() if size is not None}
    print(max(known, key=known.get))
    print(sum(known.values()) - report.ledger.growth)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and mallinfo2")
def test_native_leak_is_led_back_to_its_line_and_the_ledger_calls_it_native(tmp_path):
    pytest.importorskip("memray")
    script = tmp_path / "keep.py"
    script.write_text(textwrap.dedent(NATIVE))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    found, largest, difference = done.stdout.splitlines()
    assert found == "native keep.py:10 in store"
    assert (largest, difference) == ("native", "0")
    assert [path.name for path in tmp_path.iterdir()] == ["keep.py"]
