"""Local variables of running functions are read by name, and nothing is written to the frame."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from leakguard.capture.heap import frames
from leakguard.capture.heap.frames import local_variables

needs_reader = pytest.mark.skipif(
    frames._locals_of is None, reason="f_locals is read: nothing is written by that from 3.13 on"
)


def test_plain_locals_and_arguments_are_read():
    def function(first: int, *rest: int, key: str = "") -> dict[str, object]:
        second = first + 1
        return local_variables(sys._getframe()) | {"sum": second}

    found = function(1, 2, key="k")

    assert found == {"first": 1, "rest": (2,), "key": "k", "second": 2, "sum": 2}


def test_shared_variables_are_read_through_their_cells():
    shared = [1]

    def function() -> dict[str, object]:
        own = {"two": 2}
        found = local_variables(sys._getframe())
        assert (lambda: own)() is own
        return found | {"read": shared}

    assert function() == {"own": {"two": 2}, "shared": [1], "read": [1]}


def test_locals_of_a_generator_that_waits_are_read():
    def generator() -> Iterator[int]:
        kept = [1, 2]
        yield len(kept)

    waiting = generator()
    next(waiting)

    assert local_variables(waiting.gi_frame) == {"kept": [1, 2]}


@needs_reader
def test_dict_that_the_program_got_of_its_locals_stays_as_it_was():
    def function() -> tuple[dict[str, object], set[str]]:
        first = 1
        config = locals()
        second = first + 1
        found = local_variables(sys._getframe())
        assert found["second"] == second
        return config, set(config)

    config, names = function()

    assert set(config) == names == {"first"}


@needs_reader
def test_reading_keeps_no_local_alive_after_its_del():
    class Kept:
        pass

    kept = Kept()
    before = sys.getrefcount(kept)
    local_variables(sys._getframe()).clear()

    assert sys.getrefcount(kept) == before


THREADS = """
import threading
from leakguard.capture.heap.frames import other_threads_run
from leakguard.live.time_limit import TimeLimit

limit, done = TimeLimit(60, print), threading.Event()
before = other_threads_run()
threading.Thread(target=done.wait).start()
print(before, other_threads_run())
done.set()
limit.cancel()
"""


def test_threads_of_the_guard_are_no_other_threads():
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.split() == ["False", "True"]
