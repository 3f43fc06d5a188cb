"""The program's own time stands still while the guard works, and counts that once."""

from __future__ import annotations

import threading

import pytest

from leakguard.launch.own_clock import OwnClock


@pytest.fixture
def clocks():
    """What the clock says, which tests set, and the program's own clock."""
    time = [100.0]
    return time, OwnClock(lambda: time[0])


def test_work_takes_no_time_of_the_program(clocks):
    time, own = clocks

    def work():
        time[0] += 5
        assert own() == 100
        own.apart(lambda: None)
        assert own() == 100
        return "done"

    assert own.apart(work) == "done"
    time[0] += 1
    assert own() == 101


def test_work_in_two_threads_at_once_counts_once(clocks):
    time, own = clocks
    began, ends = threading.Event(), threading.Event()

    def other():
        began.set()
        assert ends.wait(10)

    def work():
        thread.start()
        assert began.wait(10)
        time[0] += 3

    thread = threading.Thread(target=own.apart, args=(other,))
    own.apart(work)
    time[0] += 2  # the other thread is still at it
    assert own() == 100
    ends.set()
    thread.join(10)
    assert own() == 100
    time[0] += 4
    assert own() == 104


def test_work_that_fails_ends(clocks):
    time, own = clocks
    with pytest.raises(ZeroDivisionError):
        own.apart(lambda: 1 / 0)
    time[0] += 2
    assert own() == 102
