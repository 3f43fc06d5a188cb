"""Interrupts, threads, forks and generators leave nothing open, here or in a child."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings

import pytest
from played_loops import played

import leakguard
from leakguard import LeakGuard
from leakguard.capture import heap
from leakguard.live.active import active_guard, open_phases
from leakguard.live.call import ask, socket_path
from leakguard.testing import FakeClock


def interrupted(monkeypatch, times: int) -> None:
    """Have the reading that the guard takes raise KeyboardInterrupt at one of its calls."""
    calls = [0]
    from leakguard.capture import recorder

    real = recorder.measure

    def measure(probes):
        calls[0] += 1
        if calls[0] == times:
            raise KeyboardInterrupt
        return real(probes)

    monkeypatch.setattr(recorder, "measure", measure)


@pytest.mark.parametrize("times", range(2, 11))
def test_interrupt_inside_the_guard_reaches_the_user_and_leaves_nothing_open(monkeypatch, times):
    with LeakGuard(report=None, clock=FakeClock()) as guard:
        interrupted(monkeypatch, times)
        seen = 0
        for _ in range(6):
            try:
                with guard.generation(), guard.phase("work"):
                    pass
            except KeyboardInterrupt:
                seen += 1
            assert open_phases() == ()
            assert gc.isenabled()
    assert seen == 1
    ends = guard.run.generation_ends()
    assert len(ends) >= 4
    assert [s.phase for s in guard.run.snapshots].count("work") >= 4


def test_fork_while_the_guard_walks_leaves_the_childs_collector_on(monkeypatch):
    walking, forked = threading.Event(), threading.Event()
    real = heap.census

    def slow(*args, **kwargs):
        walking.set()
        forked.wait(20)
        return real(*args, **kwargs)

    answers = []

    def fork() -> None:
        walking.wait(20)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, b"1" if gc.isenabled() else b"0")
            os._exit(0)
        forked.set()
        answers.append(os.read(read, 1))
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)

    monkeypatch.setattr(heap, "census", slow)
    thread = threading.Thread(target=fork)
    thread.start()
    with LeakGuard(report=None) as guard, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guard.snapshot("now")
    thread.join()
    assert answers == [b"1"]
    assert gc.isenabled()


def test_with_twice_one_after_the_other_records_two_runs(tmp_path):
    path = tmp_path / "run.jsonl"
    guard = LeakGuard(out=path, report=None)
    played(guard)
    played(guard)
    runs = leakguard.store.load_runs(path)
    assert [run.generations for run in runs] == [(1, 2, 3), (1, 2, 3)]
    assert all(run.finished for run in runs)


def test_with_inside_with_is_one_run():
    guard = LeakGuard(report=None)
    with guard:
        with guard, guard.phase("inner"):
            pass
        assert active_guard() is guard
        with guard.phase("outer"):
            pass
    assert active_guard() is None
    assert [s.phase for s in guard.run.snapshots if s.phase] == ["inner", "outer"]


def test_stop_from_another_thread_lets_the_loop_go_on():
    guard = LeakGuard(report=None).start()
    done = 0
    for number in guard.generations(range(6)):
        with guard.phase("work"):
            if number == 2:
                thread = threading.Thread(target=guard.stop)
                thread.start()
                thread.join()
        done += 1
    assert done == 6
    assert guard.run.finished
    assert open_phases() == ()
    assert guard.run.snapshots[-1].moment == "end"


def test_forked_childs_exit_leaves_the_parents_socket_and_file(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path, on_signal="SIGUSR1", report=None):
        child = os.fork()
        if child == 0:
            try:
                active_guard().stop()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert ask(os.getpid(), 60)[1] == str(path)
    assert not socket_path(os.getpid()).exists()
    assert leakguard.load(path).finished


def test_interleaved_generators_close_their_own_phases():
    with LeakGuard(report=None) as guard:

        def steps(name: str):
            with guard.phase(name):
                yield 1

        first, second = steps("a"), steps("b")
        next(first), next(second)
        assert next(first, None) is None
        assert open_phases() == ("b",)
        assert next(second, None) is None
        assert open_phases() == ()
        with guard.phase("a"):
            pass
    assert [s.phase for s in guard.run.snapshots if s.phase].count("a") == 2


def test_nearly_full_stack_is_no_error_of_the_guard():
    def deep(left: int) -> int:
        with guard.phase("deep"):
            pass
        return deep(left - 1) if left else 0

    with LeakGuard(report=None) as guard:
        with pytest.raises(RecursionError):
            deep(10_000)
        assert open_phases() == ()
        with guard.phase("after"):
            pass
    assert "after" in [s.phase for s in guard.run.snapshots]


def frames_left() -> int:
    try:
        return 1 + frames_left()
    except RecursionError:
        return 1


def test_phase_runs_its_body_wherever_the_program_has_eight_frames_left():
    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        else:
            with guard.phase("deep"):
                ran.append(1)

    ran: list[int] = []
    with LeakGuard(report=None) as guard:
        for room in range(8, 120):
            deep(frames_left() - room)
        assert open_phases() == ()
    assert len(ran) == 120 - 8


@pytest.mark.parametrize("kind", ["loop", "called", "snapshot", "promise"])
def test_round_begins_and_ends_wherever_the_program_has_eight_frames_left(kind):
    def rounds() -> None:
        if kind == "loop":
            next(loop)
        elif kind == "called":
            with guard.generation():
                pass
        elif kind == "snapshot":
            guard.snapshot("deep")
        else:
            guard.expect_freed([1.5])
        ran.append(1)

    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        else:
            rounds()

    ran: list[int] = []
    limit = sys.getrecursionlimit()
    with LeakGuard(report=None) as guard:
        loop = iter(guard.generations(1_000))
        next(loop)
        for room in range(8, 60):
            deep(frames_left() - room)
        assert sys.getrecursionlimit() == limit
    assert len(ran) == 60 - 8


def test_recursion_of_the_program_in_a_loop_is_its_own_error():
    def endless():
        yield 1
        yield deeper()

    def deeper() -> int:
        return deeper()

    with LeakGuard(report=None) as guard, pytest.raises(RecursionError):
        for _ in guard.generations(endless()):
            pass
