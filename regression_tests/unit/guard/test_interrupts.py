"""An interrupt, as Ctrl-C sends it, reaches the program from any moment of the guard's own work.

What it leaves half done is over with the next call: of a round, of a start, of an end. Python lets
it in at each call, so a profiler raises it at one after the other.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

import leakguard
from leakguard import LeakGuard
from leakguard.alarm import pass_on
from leakguard.live.active import active_guard, open_phases
from leakguard.live.call import socket_path
from leakguard.live.history import History
from regression_tests.benchmarks.faults.interrupts import (
    interrupted,
    interrupted_at,
    play_round,
)

# Where a start or a look has its turns; inside of a walk of the heap are thousands of moments more.
TURNS = "leakguard/(live/|guard|store/(jsonl|run_lock))"
CHEAP = {"max_overhead": 1e-9, "collect": "never", "trace": "off", "report": None}
EACH = pytest.param(1, marks=pytest.mark.heavy, id="each")


def test_interrupts_at_random_moments_reach_the_program_and_leave_nothing_open(tmp_path):
    """Dozens of them; ``python -m regression_tests.benchmarks.faults`` makes a thousand."""
    told = interrupted(tmp_path / "run.jsonl", times=40)
    assert told.sent == told.received == 40, "".join(told.lost)
    assert told.left_open == 0
    assert leakguard.load(tmp_path / "run.jsonl").finished


@pytest.mark.parametrize("error", [TimeoutError, LookupError])
def test_error_that_an_alarm_of_the_program_raises_reaches_it_from_the_middle_of_a_look(
    tmp_path, error
):
    """An alarm rings once. One in a hundred may be lost where an attribute is asked for."""
    told = interrupted(tmp_path / "run.jsonl", times=60, error=error)
    assert told.received >= 0.9 * told.sent
    assert told.left_open == 0
    assert leakguard.load(tmp_path / "run.jsonl").finished


@pytest.fixture
def ringing():
    """Return a handler of a signal, which is installed for the length of a test."""

    def ring(*_: object) -> None:
        raise LookupError

    before = signal.signal(signal.SIGALRM, ring)
    yield ring
    signal.signal(signal.SIGALRM, before)


def test_error_that_is_passed_on_is_in_no_cycle(ringing):
    """What its frames hold, a collector that is held back among it, would wait for a collection."""
    with pytest.raises(LookupError) as passed:
        try:
            ringing()
        except LookupError as error:
            pass_on(error)
    frames = [frame for frame, _ in traceback.walk_tb(passed.tb)]
    assert [f.f_locals for f in frames if f.f_code is pass_on.__code__] == [{}]


def test_alarm_in_the_end_of_a_phase_leaves_it_open_only_until_the_one_around_it_ends(ringing):
    with LeakGuard(**CHEAP) as guard:
        for _ in guard.generations(range(2)):
            with contextlib.suppress(LookupError), guard.phase("work"):
                guard.phase("inner").__enter__()  # whose end the alarm will have prevented
                ringing()
            assert open_phases() == ()


def test_error_of_a_gauge_stays_a_note_though_the_constants_of_signals_are_an_enumeration():
    """What they are when no handler is installed, ``SIG_DFL``, is no handler of the program."""
    guard = LeakGuard(report=None)
    guard.gauge("stage", lambda: signal.Handlers(7))
    with guard:
        for _ in guard.generations(range(3)):
            pass
    assert "7 is not a valid Handlers" in guard.run.snapshots[-1].unavailable["gauge stage"]


def test_error_of_a_gauge_stays_a_note_where_its_own_alarm_has_rung(tmp_path):
    def ring(*_: object) -> None:
        raise TimeoutError("the gauge took too long")

    def impatient() -> float:
        before = signal.signal(signal.SIGALRM, ring)
        try:
            os.kill(os.getpid(), signal.SIGALRM)
            return 1.0
        finally:
            signal.signal(signal.SIGALRM, before)

    guard = LeakGuard(report=None)
    guard.gauge("impatient", impatient)
    with guard:
        for _ in guard.generations(range(3)):
            pass
    assert "took too long" in guard.run.snapshots[-1].unavailable["gauge impatient"]


@pytest.fixture(autouse=True)
def _nobody_keeps_what_python_ignores(monkeypatch):
    """Have an interrupt in the close of a generator forgotten: pytest would keep its frames."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    gc.collect()  # what earlier tests left in cycles would be taken for left open


def left_open(guard: LeakGuard) -> list[str]:
    """Say what is not as it is between two rounds."""
    guarded = guard._guarded
    state = {
        "phases": open_phases(),
        "collector": not gc.isenabled(),
        "generation": guarded.loop._opened,
        "work": guarded.safety._worker,
        "charge": guarded.scribe.meter._since,
        "peaks": list(guarded.looker.recorder.peaks._open),
    }
    return [name for name, what in state.items() if what]


def rounds_of(guard: LeakGuard):
    def loop() -> None:
        for _ in guard.generations():
            with guard.phase("work"), guard.phase("inner"):
                break

    async def async_loop() -> None:
        async for _ in guard.generations():
            with guard.phase("work"), guard.phase("inner"):
                break

    def run_async() -> None:
        with pytest.raises(StopIteration):
            async_loop().send(None)

    return {
        "generation": lambda: play_round(guard),
        "generations": loop,
        "async generations": run_async,
    }


@pytest.mark.parametrize("step", [13, EACH])
@pytest.mark.parametrize("form", ["generation", "generations", "async generations"])
@pytest.mark.parametrize("measured", [True, False])
def test_interrupt_at_any_moment_of_a_round_is_over_with_the_next_round(
    tmp_path, monkeypatch, form, step, measured
):
    monkeypatch.setattr("leakguard.live.numbers.MEASURED_SECONDS", math.inf if measured else 0.0)
    out = tmp_path / "run.jsonl"
    settings = {"max_overhead": 1e-9, "collect": "never", "trace": "off", "report": None}
    with LeakGuard(out=out, **settings) as guard:
        play = rounds_of(guard)[form]
        for _ in range(16):  # the first ones are looked at, and have too many moments
            play()
        moment = 1
        while interrupted_at(moment, play):
            play()
            assert left_open(guard) == [], f"moment {moment}"
            moment += step
    assert moment > (500 if measured else 100)
    assert leakguard.load(out).finished


def open_files() -> list[str]:
    """Return what the open descriptors lead to."""
    found, folder = [], Path("/proc/self/fd")
    for entry in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(OSError):  # the descriptor of this listing is closed by now
            found.append(str(entry.readlink()))
    return sorted(found)


def held_by_the_process() -> dict[str, object]:
    """Return what a guard takes of its process for as long as it runs."""
    return {
        "active": active_guard(),
        "phases": open_phases(),
        "collector": gc.isenabled(),
        "handlers": [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGUSR1)],
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        "socket": socket_path(os.getpid()).exists(),
        "files": open_files(),
    }


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Return settings with which a guard takes all that it can take of its process."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return {**CHEAP, "out": tmp_path / "run.jsonl", "on_signal": "USR1"}


@pytest.mark.parametrize("step", [61, EACH])
def test_interrupted_start_leaves_nothing_and_the_next_one_begins(settings, step):
    before, moment, out = held_by_the_process(), 1, settings["out"]
    while interrupted_at(moment, (guard := LeakGuard(**settings)).start, TURNS):
        if active_guard() is None:
            assert held_by_the_process() == before, f"moment {moment}"
        with guard:
            play_round(guard)
        assert held_by_the_process() == before, f"moment {moment}"
        assert leakguard.load(out).finished
        out.unlink()
        moment += step
    guard.stop()
    assert moment > 100


@pytest.mark.parametrize("step", [251, EACH])
def test_interrupted_end_is_made_good_by_the_next_call(settings, step):
    before, moment, out = held_by_the_process(), 1, settings["out"]
    while True:
        guard = LeakGuard(**settings).start()
        play_round(guard)
        there = interrupted_at(moment, guard.stop)
        guard.stop()
        assert held_by_the_process() == before, f"moment {moment}"
        run = leakguard.load(out)
        assert (run.finished, run.generations, run.notes) == (True, (1,), ())
        out.unlink()
        if not there:
            break
        moment += step
    assert moment > 100


@pytest.mark.parametrize(
    ("within", "step"), [(TURNS, 251), pytest.param("", 3_001, marks=pytest.mark.heavy)]
)
def test_interrupt_in_a_look_is_over_with_the_next_round(tmp_path, within, step):
    out, moment, kept = tmp_path / "run.jsonl", 1, []
    with LeakGuard(out=out, **{**CHEAP, "max_overhead": None}) as guard:

        def play() -> None:
            kept.append(bytearray(10))
            play_round(guard)

        play()
        while interrupted_at(moment, play, within):
            play()
            assert left_open(guard) == [], f"moment {moment}"
            moment += step
        here = guard.run
    assert moment > 4 * step
    read = leakguard.load(out)
    assert (read.finished, read.notes) == (True, ())
    seen = {s.serial: s.census for s in here.snapshots}
    assert all(s.census == seen.get(s.serial, s.census) for s in read.snapshots)


# Three lines are a block that is compressed; with six of them every second one is dropped.
@pytest.mark.parametrize("kept", range(6))
def test_interrupt_while_a_line_is_kept_leaves_the_others_whole(kept):
    lines = [b"%d" % n * 30_000 for n in range(8)]
    moment, there = 0, True
    while there:
        moment += 1
        history = History(limit=5)
        for n in range(kept):
            history.append(lines[n], n)
        there = interrupted_at(moment, lambda h=history: h.append(lines[6], 6))
        history.append(lines[7], 8)
        left = list(history)
        assert set(left) <= set(lines), f"moment {moment}"
        assert left == sorted(set(left))
        assert len(left) >= min(kept, 2)
    assert moment > 20


def test_interrupt_in_a_report_leaves_the_run_going_on(tmp_path):
    out = tmp_path / "run.jsonl"
    with LeakGuard(out=out, **CHEAP) as guard:
        play_round(guard)
        guard.report()
        for moment in range(1, 5_000, 401):  # each round makes the next report longer
            assert interrupted_at(moment, guard.report)
            play_round(guard)
            assert left_open(guard) == [], f"moment {moment}"
    assert leakguard.load(out).finished
