"""A generation is traced for four times as long as one usually takes, or 3 to 10 s, at most."""

from __future__ import annotations

import _thread
import gc
import threading
import time
import tracemalloc

import pytest

from leakguard import LeakGuard, load
from leakguard.live import tracing
from leakguard.live.look import Looker
from leakguard.live.time_limit import TimeLimit
from leakguard.testing import FakeClock

PATIENCE = 30.0  # seconds; what is waited for comes after milliseconds


@pytest.fixture(autouse=True)
def without_births(monkeypatch):
    """Births name lines without a trace; these tests are about runs that have none."""
    monkeypatch.setenv("LEAKGUARD_BIRTHS", "0")


class Environment:
    """What is kept: large enough to be seen in memory, too."""

    def __init__(self):
        self.data = bytearray(50_000)


def eventually(holds):
    """Wait until ``holds``; fail where it never does."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def loop_that_waits_in_traced_generation(guard):
    """Keep four more each round; stay in the traced generation until nothing traces."""
    kept, cut = [], 0
    with guard:
        for _ in guard.generations(range(12)):
            traces = tracemalloc.is_tracing()
            kept += [Environment() for _ in range(4)]
            if traces:
                eventually(lambda: not tracemalloc.is_tracing())
                cut += 1
            time.sleep(0.002)
    return cut


def test_trace_that_lasts_too_long_is_cut_and_tells_the_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tracing, "_SECONDS_AT_LEAST", 0.2)
    monkeypatch.setattr(tracing, "_SECONDS_AT_MOST", 0.2)
    out = tmp_path / "run.jsonl"
    cut = loop_that_waits_in_traced_generation(LeakGuard(out=out, report=None, max_overhead=None))
    told = [s for s in load(out).snapshots if s.sites]
    assert cut >= 1
    assert [site.function for s in told for site in s.sites if site.type and "Env" in site.type]
    # Who holds what was asked in the middle of that generation as well, and its end shows it all.
    kept = [h for s in told for h in s.holders if "kept" in h.path]
    assert kept and all(h.before is not None and h.entries - h.before >= 4 for h in kept)


def test_loop_that_is_left_while_another_thread_looks_ends_after_that_look():
    guard = LeakGuard(report=None, max_overhead=None)
    with guard:
        rounds = iter(guard.generations(range(5)))
        next(rounds)
        seen_by_a_look = [rounds]
        del rounds  # as a ``break`` does
        safety, still_open = guard._guarded.safety, []

        def look():
            seen_by_a_look.clear()
            still_open.append(guard._guarded.loop.round.number)

        safety.run(look)
        ended = [s.generation for s in guard.run.snapshots if s.moment == "generation"]
    assert (still_open, ended) == ([0], [0])


def test_limit_that_is_cancelled_never_calls():
    called, before = [], _thread._count()
    limit = TimeLimit(3600.0, lambda: called.append(1))
    eventually(lambda: _thread._count() == before + 1)
    limit.cancel()
    assert called == []
    eventually(lambda: _thread._count() == before)


@pytest.mark.parametrize("beside", [False, True], ids=["main thread", "thread"])
def test_program_counts_no_thread_but_its_own_while_a_trace_lasts_and_is_cut(monkeypatch, beside):
    monkeypatch.setattr(tracing, "_SECONDS_AT_LEAST", 0.05)
    monkeypatch.setattr(tracing, "_SECONDS_AT_MOST", 0.05)
    counted, kept, traced = [], [], []

    def loop():
        with LeakGuard(report=None, max_overhead=None) as guard:
            for _ in guard.generations(range(12)):
                kept.extend(Environment() for _ in range(4))
                counted.append(threading.active_count())
                traced.append(tracemalloc.is_tracing())
                if traced[-1]:
                    eventually(lambda: not tracemalloc.is_tracing())
                counted.append(threading.active_count())
                time.sleep(0.002)

    before = threading.active_count()
    if beside:
        thread = threading.Thread(target=loop)
        thread.start()
        thread.join(PATIENCE)
    else:
        loop()
    assert any(traced)
    assert set(counted) == {before + beside}


def test_limit_calls_once():
    called = threading.Event()
    limit = TimeLimit(0.001, called.set)
    assert called.wait(PATIENCE)
    limit.cancel()


@pytest.mark.parametrize(
    ("usual", "rounds", "longest"),
    [(0.1, 3, 3.0), (0.1, 60, 6.0), (0.1, 5_000, 10.0), (2.0, 3, 8.0), (600.0, 3, 2_400.0)],
)
def test_longest_trace_is_four_usual_generations_or_what_the_run_has_lasted(usual, rounds, longest):
    trace = tracing.Tracing("auto")
    for _ in range(rounds):
        trace.timed(usual, traced=False)
    assert trace.longest == pytest.approx(longest)


@pytest.mark.parametrize(("total", "first"), [(None, 3), (8, 3), (40, 5), (120, 12), (10_000, 12)])
def test_first_generations_of_a_long_loop_are_a_warm_up(total, first):
    trace = tracing.Tracing("auto")
    trace.announce(total)
    assert next(n for n in range(1, 20) if trace.worth_asking(n)) == first


def test_tuple_that_the_program_is_making_goes_on_growing_when_its_trace_is_cut(monkeypatch):
    monkeypatch.setattr(tracing, "_SECONDS_AT_LEAST", 0.05)
    monkeypatch.setattr(tracing, "_SECONDS_AT_MOST", 0.05)
    ask, asked = Looker.holders_of, []

    def ask_slowly(looker, objects):
        seen = gc.get_objects()
        asked.append(len(seen))
        time.sleep(0.1)  # other threads go on meanwhile
        seen.clear()
        return ask(looker, objects)

    def items():
        for number in range(100):
            yield number
            if number == 20 and tracemalloc.is_tracing():
                eventually(lambda: not tracemalloc.is_tracing())

    monkeypatch.setattr(Looker, "holders_of", ask_slowly)
    kept, made = [], []
    with LeakGuard(report=None, max_overhead=None) as guard:
        for _ in guard.generations(range(12)):
            kept += [Environment() for _ in range(4)]
            made.append(len(tuple(items())))
    assert asked
    assert made == [100] * 12


def test_trace_of_a_loop_in_another_thread_is_given_up_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(tracing, "_SECONDS_AT_LEAST", 0.05)
    monkeypatch.setattr(tracing, "_SECONDS_AT_MOST", 0.05)
    out = tmp_path / "run.jsonl"
    guard = LeakGuard(out=out, report=None, max_overhead=None)
    thread = threading.Thread(target=loop_that_waits_in_traced_generation, args=(guard,))
    thread.start()
    thread.join(PATIENCE)
    cut = [s for s in load(out).snapshots if s.cost.cut]
    assert cut and not any(s.sites for s in cut)


def test_second_trace_after_one_that_was_cut_knows_fewer_frames_and_may_last_longer(monkeypatch):
    depths = []
    start = tracemalloc.start
    monkeypatch.setattr(tracing, "_SECONDS_AT_LEAST", 0.05)
    monkeypatch.setattr(tracing, "_SECONDS_AT_MOST", 0.05)
    monkeypatch.setattr(tracemalloc, "start", lambda frames: (depths.append(frames), start(frames)))
    kept = []
    with LeakGuard(report=None, max_overhead=None) as guard:
        for _ in guard.generations(range(16)):
            if tracemalloc.is_tracing() and len(depths) == 1:
                eventually(lambda: not tracemalloc.is_tracing())
            kept += [Environment() for _ in range(4)]  # too late for the first trace
            time.sleep(0.002)
    (finding,) = guard.report().findings
    assert depths == [16, 4]
    assert "test_trace_is_cut.py" in finding.created_at
    assert [s.cost.cut for s in guard.run.snapshots if s.cost.slowdown] == [True, False]


def test_trace_after_one_that_was_cut_may_last_twice_as_long():
    trace = tracing.Tracing("auto")
    once = trace.longest
    trace.note_cut()
    assert trace.longest == 2 * once


def test_time_in_which_other_programs_had_the_processors_does_not_count(monkeypatch):
    clock, called = FakeClock(), threading.Event()
    monkeypatch.setattr("leakguard.live.time_limit.program_clock", clock)
    limit = TimeLimit(0.001, called.set)
    assert not called.wait(0.1)
    clock.advance(1.0)
    assert called.wait(PATIENCE)
    limit.cancel()
