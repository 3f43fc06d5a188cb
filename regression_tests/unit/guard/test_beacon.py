"""What `leakguard snapshot PID` goes by is private, and is of the process that it names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile

import psutil
import pytest

from leakguard import LeakGuard, UsageError
from leakguard.live.active import active_guard
from leakguard.live.beacon import beacon_path, find_beacon, process_began


def test_beacon_of_another_process_or_in_an_open_folder_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = beacon_path(os.getpid())
    told = {"signal": int(signal.SIGUSR1), "out": "x", "began": process_began(os.getpid())}
    path.parent.mkdir(mode=0o700)
    path.write_text(json.dumps(told))
    assert find_beacon(os.getpid()).signal == signal.SIGUSR1

    for wrong in ({"began": 1.0}, {"signal": int(signal.SIGKILL)}, {"signal": "x"}):
        path.write_text(json.dumps({**told, **wrong}))
        with pytest.raises(UsageError):
            find_beacon(os.getpid())

    path.write_text(json.dumps(told))
    path.parent.chmod(0o755)
    with pytest.raises(UsageError):
        find_beacon(os.getpid())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the clock tells")
def test_clock_that_is_set_in_mid_run_does_not_disown_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with LeakGuard(out=tmp_path / "run.jsonl", on_signal="USR1", report=None):
        began = psutil.Process().create_time()
        monkeypatch.setattr(psutil.Process, "create_time", lambda _: began + 3600)
        assert find_beacon(os.getpid()).out == tmp_path / "run.jsonl"


def test_a_process_began_after_those_that_were_there_before_it():
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert process_began(os.getpid()) < process_began(child.pid)
    finally:
        child.kill()
        child.wait()
    assert process_began(child.pid) is None


def test_beacon_is_not_written_through_a_link(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = beacon_path(os.getpid())
    path.parent.mkdir(mode=0o700)
    path.symlink_to(victim)
    with LeakGuard(out=tmp_path / "run.jsonl", on_signal="USR1", report=None):
        assert not path.is_symlink()
        assert path.stat().st_mode & 0o777 == 0o600
    assert victim.read_text() == "precious"


def test_folder_of_beacons_that_is_a_link_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    beacon_path(1).parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="private folder"):
        LeakGuard(out=tmp_path / "run.jsonl", on_signal="USR1").start()
    assert active_guard() is None
