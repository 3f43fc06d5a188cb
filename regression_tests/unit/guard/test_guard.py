"""What a guard records, and that it never hurts the program it watches."""

from __future__ import annotations

import errno
import gc
import io
import itertools
import json
import logging
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import leakguard
from leakguard import LeakGuard, StillAlive, UsageError, expect_freed
from leakguard.capture import heap
from leakguard.store import jsonl
from leakguard.testing import FakeClock


class Environment:
    """A watched class."""


class Agent:
    """Another one."""


def test_generations_keep_the_users_numbers():
    with LeakGuard() as guard:
        assert list(guard.generations(range(7, 10))) == [7, 8, 9]
    assert guard.run.generations == (7, 8, 9)


def test_rounds_that_are_no_integers_count_from_one():
    with LeakGuard() as guard:
        assert list(guard.generations("ab")) == ["a", "b"]
    assert guard.run.generations == (1, 2)


def test_generation_left_by_break_is_recorded_once():
    with LeakGuard() as guard:
        for generation in guard.generations(range(1, 9)):
            if generation == 3:
                break
    assert guard.run.generations == (1, 2, 3)
    assert len(guard.run.generation_ends()) == 3


def test_labels_are_those_of_the_log_format():
    with LeakGuard() as guard:
        guard.snapshot("Trainer initialized", baseline=True)
        for _ in guard.generations(range(1, 2)):
            with guard.phase("evaluate_population"):
                pass
    labels = [s.label for s in guard.run.snapshots]
    assert labels == [
        "Run started",
        "Trainer initialized (baseline)",
        "Gen 1: After evaluate_population",
        "Gen 1: End of generation",
    ]
    assert guard.run.baseline.label == "Trainer initialized (baseline)"


def test_watched_classes_are_counted_with_subclasses_against_expectations():
    class SpecialEnvironment(Environment):
        pass

    alive = [Environment(), SpecialEnvironment(), Agent()]
    with LeakGuard(watch={Environment: 2, Agent: (2, 3)}) as guard:
        guard.snapshot("now")
    watched = {name.rsplit(".", 1)[-1]: w for name, w in guard.run.snapshots[-1].watched.items()}
    assert watched["Environment"].count == 2
    assert watched["Environment"].as_expected
    assert watched["Agent"].count == 1
    assert not watched["Agent"].as_expected
    del alive


def test_phase_change_counts_what_the_phase_left_behind():
    kept = []
    with LeakGuard(max_overhead=None) as guard:
        for _ in guard.generations(range(3)):
            with guard.phase("make"):
                kept.extend(Environment() for _ in range(16))
            with guard.phase("idle"):
                pass
    name = f"{__name__}.Environment"
    for snapshot in guard.run.of_phase("make"):
        assert snapshot.change[name].count == 16
    for snapshot in guard.run.of_phase("idle"):
        assert name not in snapshot.change


def test_phases_are_looked_into_once_something_grows():
    kept = []
    with LeakGuard(clock=FakeClock()) as guard:  # by this clock looks cost nothing
        for number in guard.generations(range(1, 6)):
            with guard.phase("make"):
                kept.extend(Environment() for _ in range(4 if number > 1 else 0))
    looked_into = [s.generation for s in guard.run.of_phase("make") if s.census is not None]
    assert looked_into == [4, 5]


def test_too_many_of_a_watched_class_are_looked_at_at_once():
    kept = []
    with LeakGuard({Environment: 0}, clock=FakeClock()) as guard:
        for _ in guard.generations(range(1, 4)):
            with guard.phase("make"):
                kept.append(Environment())
    looked_into = [s.generation for s in guard.run.of_phase("make") if s.census is not None]
    assert looked_into == [3]  # the second generation has the first look
    assert all(snapshot.holders for snapshot in guard.run.generation_ends()[1:])


def test_phase_totals_of_a_generation_add_up_over_many_runs():
    with LeakGuard() as guard:
        for _ in guard.generations(range(1)):
            for _ in range(100):
                with guard.phase("step"):
                    pass
    end = guard.run.generation_ends()[-1]
    assert end.phases["step"].times == 100
    assert len(list(guard.run.of_phase("step"))) <= 17


def test_peak_of_a_phase_is_seen_after_the_memory_is_gone():
    with LeakGuard() as guard:
        with guard.phase("spike"):
            block = bytearray(b"x" * 80_000_000)
            del block
        with guard.phase("calm"):
            pass
    spike, calm = (next(s for s in guard.run.snapshots if s.phase == p) for p in ("spike", "calm"))
    if "peak" in spike.unavailable:
        pytest.skip(spike.unavailable["peak"])
    assert spike.metrics["peak"] - spike.metrics["rss"] > 60_000_000
    assert calm.metrics["peak"] - calm.metrics["rss"] < 20_000_000


def test_outer_peak_survives_the_reset_of_an_inner_phase():
    with LeakGuard() as guard, guard.phase("outer"):
        block = bytearray(b"x" * 80_000_000)
        del block
        with guard.phase("inner"):
            pass
    outer = next(s for s in guard.run.snapshots if s.phase == "outer")
    if "peak" in outer.unavailable:
        pytest.skip(outer.unavailable["peak"])
    assert outer.metrics["peak"] - outer.metrics["rss"] > 60_000_000


def test_gauge_is_recorded_with_its_capacity():
    buffer = [1, 2, 3]
    guard = LeakGuard()
    guard.gauge("replay_buffer", lambda: len(buffer), capacity=10)
    with guard:
        guard.snapshot("now")
    gauge = guard.run.snapshots[-1].gauges["replay_buffer"]
    assert (gauge.value, gauge.capacity) == (3, 10)


def test_gauge_that_raises_becomes_a_note():
    guard = LeakGuard()
    guard.gauge("broken", lambda: 1 / 0)
    with guard:
        guard.snapshot("now")
    assert "ZeroDivisionError" in guard.run.snapshots[-1].unavailable["gauge broken"]


def test_broken_heap_walk_becomes_a_note_and_the_loop_goes_on(monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no walk today")

    monkeypatch.setattr(heap, "census", broken)
    with LeakGuard() as guard:
        for _ in guard.generations(range(2)):
            with guard.phase("work"):
                pass
    assert guard.run.generations == (0, 1)
    assert "no walk today" in guard.run.snapshots[-1].unavailable["census"]


def test_expect_freed_judges_at_the_end_of_the_generation():
    kept = []
    with LeakGuard() as guard:
        for _ in guard.generations(range(1)):
            gone, stays = Agent(), Agent()
            kept.append(stays)
            expect_freed([gone, stays], "replaced")
            del gone, stays
    (outcome,) = guard.run.generation_ends()[-1].expectations
    assert (outcome.expected, outcome.alive, outcome.why) == (2, 1, "replaced")


def test_an_object_that_is_promised_again_is_told_as_the_same():
    kept, other = Agent(), [Agent()]
    with LeakGuard() as guard:
        for n in guard.generations(range(3)):
            expect_freed(kept, "kept on purpose")
            if n == 2:
                other.append(Agent())
                expect_freed(other[1:], "a new one")
    told = [(e.alive, e.again) for shot in guard.run.snapshots for e in shot.expectations]
    assert told == [(1, 0), (1, 1), (1, 1), (1, 0)]


def test_expect_freed_waits_for_cycles_to_be_collected():
    with LeakGuard() as guard:
        for _ in guard.generations(range(1)):
            agent = Agent()
            agent.me = agent
            expect_freed(agent, "a cycle is no leak")
            del agent
    (outcome,) = guard.run.generation_ends()[-1].expectations
    assert outcome.alive == 0


def test_who_holds_what_should_be_gone_is_asked_only_where_it_may_cost():
    kept = []
    ticks = itertools.count()  # time passes only while the guard works: it may spend no more of it
    with LeakGuard(clock=lambda: float(next(ticks)), trace="off") as guard:
        for _ in guard.generations(range(13)):
            kept.append(Agent())
            expect_freed(kept[-1], "kept in a list")
    judged = [end.expectations[0] for end in guard.run.generation_ends()]
    assert [outcome.alive for outcome in judged] == [1] * 13
    asked = [outcome.held_by is not None for outcome in judged]
    assert asked[1:] == [False] * 11 + [True]  # the first price is a guess


def test_assert_freed_names_what_is_still_alive():
    agent = Agent()
    with LeakGuard() as guard:
        guard.expect_freed(agent, "replaced")
        with pytest.raises(StillAlive, match=r"1 of 1 .*Agent still alive \(replaced\)"):
            guard.assert_freed()
        guard.assert_freed()  # judged once


def test_expect_freed_of_what_cannot_be_weakly_held_says_so():
    with LeakGuard() as guard:
        guard.expect_freed([1, 2], "numbers")
        guard.snapshot("now")
    assert "cannot be weakly referenced" in guard.run.snapshots[-1].unavailable["expect_freed"]


def test_guard_keeps_no_watched_object_alive():
    agent = Agent()
    reference = weakref.ref(agent)
    with LeakGuard(watch=[Agent], max_overhead=None) as guard:
        for _ in guard.generations(range(2)):
            with guard.phase("work"):
                guard.expect_freed(agent, "later")
        del agent
        gc.collect()
        assert reference() is None


def test_run_file_is_complete_after_every_snapshot(tmp_path):
    path = tmp_path / "deep" / "run.jsonl"
    with LeakGuard(out=path) as guard:
        guard.snapshot("first")
        lines = path.read_text().splitlines()
        assert json.loads(lines[0])["schema"] == "leakguard.run/1"
        assert json.loads(lines[-1])["snapshot"]["label"] == "first"
    assert "end" in json.loads(path.read_text().splitlines()[-1])


def test_run_read_back_is_the_run_that_was_recorded(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(watch={Agent: 0}, out=path) as guard:
        for _ in guard.generations(range(3)):
            with guard.phase("work"):
                pass
    loaded = leakguard.load(path)
    assert [s.label for s in loaded.snapshots] == [s.label for s in guard.run.snapshots]
    assert loaded.snapshots[-1].metrics == guard.run.snapshots[-1].metrics
    assert loaded.snapshots[-1].watched == guard.run.snapshots[-1].watched
    assert loaded.finished


def test_unwritable_run_file_is_refused_before_the_training_starts(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(UsageError, match="choose another out= path"):
        LeakGuard(out=blocker / "run.jsonl").start()


def test_full_disk_stops_the_file_and_not_the_training(tmp_path, capsys, monkeypatch):
    def full(self, line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with LeakGuard(out=tmp_path / "run.jsonl") as guard:
        monkeypatch.setattr(jsonl.RunWriter, "write", full)
        for _ in guard.generations(range(2)):
            pass
    assert guard.run.generations == (0, 1)
    assert "no longer written" in capsys.readouterr().err


def test_disk_that_is_full_from_the_start_is_refused():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(UsageError, match="No space left"):
        LeakGuard(out="/dev/full").start()


@pytest.mark.parametrize(
    "arguments",
    [
        {"watch": [3]},
        {"watch": {Agent: (5, 2)}},
        {"large_object": "50 parsecs"},
        {"max_overhead": 7},
        {"log_every": 0},
        {"log": 12},
    ],
)
def test_unusable_arguments_are_refused_in_one_line(arguments):
    with pytest.raises(UsageError) as refused:
        LeakGuard(**arguments)
    assert "\n" not in str(refused.value)


def test_log_gets_blocks_trend_growth_and_the_report():
    log = io.StringIO()
    with LeakGuard(watch={Agent: 0}, log=log) as guard:
        guard.snapshot("ready", baseline=True)
        for _ in guard.generations(range(1, 4)):
            with guard.phase("work"):
                pass
    text = log.getvalue()
    assert text.count("MEMORY SNAPSHOT: ") >= 7
    assert "MEMORY SNAPSHOT: Gen 3: After work" in text
    assert text.count("MEMORY TREND ACROSS GENERATIONS") == 3
    assert text.count("MEMORY GROWTH ANALYSIS") == 3


def test_log_every_leaves_generations_out():
    log = io.StringIO()
    with LeakGuard(log=log, log_every=2) as guard:
        for _ in guard.generations(range(1, 5)):
            pass
    text = log.getvalue()
    assert "Gen 1: End" in text and "Gen 3: End" in text
    assert "SNAPSHOT: Gen 2: End" not in text


def test_logger_gets_whole_blocks(caplog):
    with (
        caplog.at_level(logging.INFO),
        LeakGuard(log=logging.getLogger("training")) as guard,
    ):
        guard.snapshot("ready")
    assert any("MEMORY SNAPSHOT: ready" in record.getMessage() for record in caplog.records)


def test_stream_that_cannot_encode_pictographs_still_gets_the_words():
    raw = io.BytesIO()
    with LeakGuard(log=io.TextIOWrapper(raw, encoding="ascii", write_through=True)) as guard:
        guard.snapshot("ready")
    assert b"MEMORY SNAPSHOT: ready" in raw.getvalue()


def test_forked_child_leaves_the_parents_file_alone(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path) as guard:
        child = os.fork()
        if child == 0:
            try:
                guard.snapshot("from the child")
                with guard.phase("child"):
                    pass
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    labels = [s.label for s in leakguard.load(path).snapshots]
    assert labels == ["Run started"]


def test_import_loads_no_framework():
    heavy = ["torch", "numpy", "scipy", "rich", "click", "jinja2", "psutil", "objgraph"]
    program = f"import sys, leakguard; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


def test_what_is_gone_is_held_by_nobody():
    gone = id(Environment())
    with LeakGuard(report=None) as guard:
        (held,) = guard._guarded.looker.holders_of([gone])
    assert held is None or held.type != f"{__name__}.Environment"
