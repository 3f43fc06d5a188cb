"""A look is taken in a copy of the process, and in the process only where nobody is disturbed."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading

import pytest

from leakguard.capture import heap
from leakguard.capture.heap import ENGINE, apart, process_copy
from leakguard.capture.heap.apart import Apart
from leakguard.capture.heap.process_copy import CopyFailed, CopyRefused, is_copy, own_seconds
from leakguard.capture.probe import Unavailable

pytestmark = pytest.mark.skipif(
    ENGINE != "compiled" or not sys.platform.startswith("linux"),
    reason="processes are copied by the compiled scan, on Linux",
)


class Kept:
    """What the tests count."""


@pytest.fixture
def another_thread():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


def _where() -> dict[str, int]:
    return {"pid": os.getpid()}


def test_look_is_taken_in_another_process_and_its_answer_comes_back():
    assert Apart().take(_where, dict[str, int])["pid"] != os.getpid()


def test_census_of_a_copy_counts_what_lives_here():
    kept = [Kept() for _ in range(1234)]

    assert heap.census().census.count(f"{__name__}.Kept") == len(kept)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the collector's lists are not read there")
def test_census_counts_frozen_objects():
    kept = [Kept() for _ in range(1234)]
    gc.freeze()
    try:
        assert heap.census().census.count(f"{__name__}.Kept") == len(kept)
    finally:
        gc.unfreeze()


def test_holders_are_found_and_growth_is_remembered_from_copy_to_copy():
    kept = {"found": [Kept() for _ in range(500)]}
    memory = heap.inspect().memory
    kept["found"] += [Kept() for _ in range(500)]

    growing = heap.inspect(memory).growing

    assert [g.entries for path, g in growing.items() if "kept" in path] == [1000]


def test_reference_counts_are_the_same_after_a_look():
    kept = [Kept() for _ in range(100)]
    before = [sys.getrefcount(item) for item in kept]

    heap.census()
    heap.inspect()

    assert [sys.getrefcount(item) for item in kept] == before


def test_object_is_asked_about_by_its_address():
    kept = {"found": [Kept()]}

    (held,) = heap.inspect(targets=[id(kept["found"][0])]).held

    assert held is not None
    assert held.type == f"{__name__}.Kept"
    assert "kept" in str(held.held_by)


def test_cpu_time_of_a_copy_is_the_guards_own():
    before = own_seconds()

    def work() -> dict[str, int]:
        sum(range(3_000_000))
        return _where()

    Apart().take(work, dict[str, int])

    assert own_seconds() - before > 0.01


def test_look_that_takes_longer_than_it_may_is_ended_and_said_so():
    def spin() -> dict[str, int]:
        while True:
            pass

    with pytest.raises(Unavailable, match="failed: it took too long"):
        Apart().take(spin, dict[str, int], seconds=0.2)


def test_process_is_not_looked_at_after_looks_that_crashed_their_copies():
    looks, here = Apart(), []

    def crash() -> dict[str, int]:
        here.append(is_copy())
        ctypes.string_at(0)
        return {}

    for _ in range(2):
        with pytest.raises(Unavailable, match="SIGSEGV"):
            looks.take(crash, dict[str, int])
    with pytest.raises(Unavailable, match="would end this process"):
        looks.take(crash, dict[str, int])

    assert here == []


def test_copy_that_met_a_lock_is_made_again(monkeypatch):
    tries = []
    answer = apart._answer_of_copy

    def hung_once(*args):
        tries.append(1)
        if len(tries) == 1:
            raise CopyFailed("it waited for a lock", hung=True)
        return answer(*args)

    monkeypatch.setattr(apart, "_answer_of_copy", hung_once)

    assert Apart().take(_where, dict[str, int])["pid"] != os.getpid()
    assert len(tries) == 2


@pytest.fixture
def no_copy(monkeypatch):
    def refused(*_, **__):
        raise CopyRefused("Operation not permitted")

    monkeypatch.setattr(process_copy.ProcessCopy, "begin", refused)


@pytest.mark.usefixtures("no_copy")
def test_single_thread_is_looked_at_in_the_process_where_there_is_no_copy(monkeypatch):
    monkeypatch.setattr(apart, "other_threads_run", lambda: False)

    assert Apart().take(_where, dict[str, int])["pid"] == os.getpid()


@pytest.mark.usefixtures("no_copy", "another_thread")
def test_look_beside_another_thread_is_refused_where_there_is_no_copy():
    with pytest.raises(Unavailable, match=r"disturb its other threads.*Operation not permitted"):
        Apart().take(_where, dict[str, int])


@pytest.mark.usefixtures("another_thread")
def test_user_may_have_looks_taken_in_the_process_all_the_same(monkeypatch):
    monkeypatch.setenv(apart.VARIABLE, "0")

    assert Apart().take(_where, dict[str, int])["pid"] == os.getpid()


def test_collector_may_come_while_a_look_is_waited_for_and_is_not_set_off_by_that(monkeypatch):
    seen, is_over = [], process_copy.is_over

    def watched(number, seconds):
        seen.append(gc.isenabled())
        return is_over(number, seconds)

    monkeypatch.setattr(process_copy, "is_over", watched)
    with heap.collector.collector_held():
        heap.census()
        seen.append(gc.isenabled())

    assert seen[0] is True
    assert seen[-1] is False
