"""The start of a process tells it from a later one with the same number."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from leakguard.capture.outside import process_began


def test_a_process_began_after_those_that_were_there_before_it():
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert process_began(os.getpid()) < process_began(child.pid)
    finally:
        child.kill()
        child.wait()
    assert process_began(child.pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the clock tells")
def test_clock_that_is_set_in_mid_run_does_not_disown_the_process(monkeypatch):
    before, began = process_began(os.getpid()), psutil.Process().create_time()
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: began + 3600)
    assert process_began(os.getpid()) == before
