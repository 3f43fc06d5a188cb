"""Garbage in cycles is told apart from objects that somebody holds."""

from __future__ import annotations

import gc
import itertools

import pytest
from played_loops import run_script

from leakguard import LeakGuard


class Environment:
    """Holds itself through its own callback, unless closed."""

    def __init__(self) -> None:
        self.data = bytearray(1_200_000)
        self.on_close = self.close

    def close(self) -> None:
        self.on_close = None


def run(close: bool, *, collect_in: int | None = None, **settings) -> LeakGuard:
    gc.collect()  # what earlier tests of this process left in cycles is none of this one's
    with LeakGuard(watch={Environment: 0}, max_overhead=None, **settings) as guard:
        for generation in guard.generations(range(1, 9)):
            if generation == collect_in:
                gc.collect(0)
            with guard.phase("evaluate"):
                for _ in range(4):
                    environment = Environment()
                    if close:
                        environment.close()
                del environment
            with guard.phase("train"):
                pass
    return guard


@pytest.fixture
def rare_collections():
    """Cycles pile up from the first generation on, whatever earlier tests have left to count."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("rare_collections")
def test_cycles_that_pile_up_are_named_and_no_holder_is_invented():
    report = run(close=False).report()
    (finding,) = report.findings
    assert (finding.verdict, finding.kind) == ("leak", "cycles")
    assert finding.type.endswith("Environment")
    assert (finding.phase, finding.started_at, finding.held_by) == ("evaluate", 1, None)
    assert finding.count_per_generation == 4
    assert [hop.partition("  ")[0] for hop in finding.path[1:]] == [
        ".on_close",
        "bound method self",
    ]
    assert "from method through `bound method self`" in finding.fix


def test_cycles_that_are_broken_are_silent():
    assert run(close=True).report().findings == ()


def test_guard_does_not_set_off_the_collector_that_hides_the_cycles():
    # The first looks make a few hundred lasting objects: the collector counts anew after them.
    guard = run(close=False, collect_in=4, collect="never", trace="off")
    counts = [next(iter(s.watched.values())).count for s in guard.run.generation_ends()]
    steps = [later - earlier for earlier, later in itertools.pairwise(counts[4:])]
    assert steps == [4] * 3


_BUFFERS = """
import ctypes
from leakguard import LeakGuard

def encode(raw):
    buffer = ctypes.create_string_buffer(raw)
    return ctypes.cast(buffer, ctypes.POINTER(ctypes.c_char))  # it and the buffer are in a cycle

with LeakGuard(report=None) as guard:
    for _ in guard.generations(range(60)):
        encode(bytes(250_000))
        sum(range(100_000))
report = guard.report()
print(report.verdict, [cleared.metric for cleared in report.cleared])
"""


def test_cycles_of_a_library_that_wait_for_the_collector_are_no_leak_without_a_holder(tmp_path):
    told = run_script(_BUFFERS, tmp_path).stdout
    assert told == "stable ['garbage in cycles']\n"
