"""Time without a processor is told apart from time that the program asked for."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from leakguard.capture import run_queue
from leakguard.live.meter import CostMeter
from leakguard.testing import FakeClock

TWO_ON_ONE = """
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
other = os.fork()
while not other:
    pass
from leakguard.capture.run_queue import program_clock, queued_seconds
began, clock, cpu = time.perf_counter(), program_clock(), time.process_time()
while time.perf_counter() - began < 1.0:
    pass
passed, worked = program_clock() - clock, time.process_time() - cpu
time.sleep(0.3)
os.kill(other, 9)
print(passed, worked, program_clock() - clock - passed)
"""


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the kernel does not tell")
def test_program_that_shares_a_processor_has_the_time_that_it_ran_and_slept():
    told = subprocess.run([sys.executable, "-c", TWO_ON_ONE], capture_output=True, check=True)
    passed, worked, slept = map(float, told.stdout.split())
    assert passed < 0.9  # of a second, with one other program at least
    assert passed == pytest.approx(worked, abs=0.1)
    assert slept > 0.2


def test_kernel_that_does_not_tell_counts_as_one_with_a_free_processor(monkeypatch):
    monkeypatch.setattr(run_queue, "_STATISTICS", "/proc/self/no-such-file")
    assert run_queue.queued_seconds() == 0.0
    assert run_queue.program_clock() == pytest.approx(time.perf_counter(), abs=1.0)


def test_share_of_the_runs_time_leaves_out_what_other_programs_took():
    clock, queued = FakeClock(), FakeClock()
    meter = CostMeter(clock, clock, queued)
    queued.advance(80.0)
    clock.advance(100.0)
    assert (meter.elapsed, meter.program, meter.program_worked) == (100.0, 100.0, 20.0)
