"""Which processes are of a job: below its guards, and by the environment, never by a number."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
import time

import pytest

from leakguard.capture.outside import descendants
from leakguard.live.sidecar.job_processes import JobProcesses, began_of
from leakguard.live.sidecar.start import host_name
from leakguard.model import RunInfo
from leakguard.store import schema

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

WAITS = "import sys; print('up', flush=True); sys.stdin.read()"


@contextlib.contextmanager
def process(code=WAITS, *arguments, **environment):
    """Run a program until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    ) as started:
        started.stdout.readline()
        try:
            yield started.pid
        finally:
            started.kill()


def test_processes_below_the_first_one_are_of_the_job(tmp_path):
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAITS!r}])"
    with process(nested) as root:
        processes = JobProcesses(tmp_path)
        processes.add(root)
        assert processes.now().keys() == {root, *descendants(root)}
        assert len(processes.now()) == 2


def test_job_is_over_when_its_processes_are(tmp_path):
    processes = JobProcesses(tmp_path)
    with process() as root:
        processes.add(root)
        assert root in processes.now()
    assert processes.now() == {}


def test_process_that_was_not_reaped_has_ended(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as started:
        while os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT) is None:
            time.sleep(0.01)
        assert began_of(started.pid) is None


def test_process_whose_guard_has_ended_is_not_of_the_job(tmp_path):
    """A notebook goes on long after its guard, and nobody asked to follow it."""
    file = tmp_path / "main-host-1.jsonl"
    holds = (
        "import sys; f = open(sys.argv[1], 'wb'); print('up', flush=True); sys.stdin.readline();"
        "f.close(); print('closed', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        started.stdout.readline()
        processes = JobProcesses(tmp_path)
        processes.add(started.pid, file)
        assert started.pid in processes.now()
        started.stdin.write(b"\n")
        started.stdin.flush()
        started.stdout.readline()
        assert processes.now() == {}
        started.kill()


def test_guard_that_joined_later_is_found_by_the_file_it_has_open(tmp_path):
    holds = (
        "import os, sys; f = open(sys.argv[1].replace('PID', str(os.getpid())), 'ab');"
        "f.write(sys.argv[2].encode()); f.flush(); print('up', flush=True); sys.stdin.read()"
    )
    header = schema.encode_header(RunInfo(job="job")).decode()
    name = tmp_path / f"rank1-{host_name()}-PID.jsonl"
    with process(holds, name, header) as pid:
        assert pid in JobProcesses(tmp_path).now()


def test_number_in_an_old_file_proves_nothing(tmp_path):
    with process() as pid:
        (tmp_path / f"main-{host_name()}-{pid}.jsonl").write_bytes(
            schema.encode_header(RunInfo(job="job", pid=pid))
        )
        assert JobProcesses(tmp_path).now() == {}


def test_process_that_inherits_the_job_is_found_wherever_it_descends_from(tmp_path):
    with process(WAITS, LEAKGUARD_JOB=str(tmp_path)) as pid:
        assert pid in JobProcesses(tmp_path).now()
    with process(WAITS, LEAKGUARD_JOB=str(tmp_path / "other")) as pid:
        assert JobProcesses(tmp_path).now() == {}


def test_children_of_a_fork_server_are_workers_and_the_server_is_not():
    context = multiprocessing.get_context("forkserver")
    child = context.Process(target=time.sleep, args=(60,))
    child.start()
    try:
        below = set(descendants(os.getpid()))
        assert child.pid in below
        from multiprocessing.forkserver import _forkserver

        assert _forkserver._forkserver_pid not in below
    finally:
        child.terminate()
        child.join()
