"""A run file is one process's and its user's alone; what goes wrong with it is one line."""

from __future__ import annotations

import json
import os
import shutil
import tempfile

import pytest
from played_loops import played, run_script

import leakguard
from leakguard import LeakGuard, UsageError
from leakguard.capture.allocation_sites import TRACERS
from leakguard.live.active import active_guard
from leakguard.testing import FakeClock


def test_run_file_is_the_users_alone_and_says_whose_it_is(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path, report=None):
        assert path.stat().st_mode & 0o777 == 0o600
        header = json.loads(path.read_text().splitlines()[0])["run"]
    assert header["pid"] == os.getpid()
    assert header["started"]


def test_two_processes_with_one_file_are_refused_in_one_line(tmp_path):
    with LeakGuard(out=tmp_path / "run.jsonl", report=None):
        program = "from leakguard import LeakGuard; LeakGuard(out='run.jsonl').start()"
        done = run_script(program, tmp_path, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert f"is being written by process {os.getpid()} since" in last


def test_worker_that_outlives_the_training_does_not_keep_its_file_locked(tmp_path):
    path = tmp_path / "run.jsonl"
    guard = LeakGuard(out=path, report=None).start()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        os._exit(0)
    try:
        guard.stop()
        played(LeakGuard(out=path, report=None))
    finally:
        os.write(write, b"x")
        os.waitpid(child, 0)
    assert len(leakguard.store.load_runs(path)) == 2


@pytest.mark.parametrize("kind", ["pipe", "nul"])
def test_what_is_no_file_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path = f"{tmp_path}/a\0b"
    with pytest.raises(UsageError) as refused:
        LeakGuard(out=path).start()
    assert "\n" not in str(refused.value)
    assert active_guard() is None


def test_file_that_is_deleted_in_mid_run_is_missed_in_one_line(tmp_path, capsys):
    path = tmp_path / "runs" / "run.jsonl"
    with LeakGuard(out=path, report=None) as guard:
        for number in guard.generations(range(6)):
            if number == 2:
                shutil.rmtree(path.parent)
    assert len(guard.run.generation_ends()) == 6
    said = capsys.readouterr().err
    assert said.count("the run is no longer written") == 1
    assert "the file was deleted" in said


def test_missing_folder_for_temporary_files_is_no_error_of_the_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setitem(TRACERS, "tracemalloc", TRACERS["memray"])
    kept = []
    with LeakGuard(clock=FakeClock(), trace="auto", report=None) as guard:
        for _ in guard.generations(range(8)):
            kept += [bytearray(100_000)]
    assert len(guard.run.generation_ends()) == 8
