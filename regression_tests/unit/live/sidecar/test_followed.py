"""A process that is seen from outside: which moments of it are samples."""

from __future__ import annotations

import subprocess
import sys

import pytest

from leakguard.capture.outside import process_began
from leakguard.live.run_directory import RunDirectory
from leakguard.live.sidecar.followed import FollowedProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

WORKER = "while input(): print(sum(range(3_000_000)), flush=True)"


@pytest.fixture
def worker():
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        work(process)
        yield process
        process.kill()


def work(process):
    process.stdin.write("go\n")
    process.stdin.flush()
    process.stdout.readline()


def test_process_that_has_not_run_gets_no_sample(worker, tmp_path):
    job = RunDirectory(str(tmp_path))
    one = FollowedProcess.of(worker.pid, process_began(worker.pid), False, job)
    one.sample()
    first = one.run.latest
    one.sample()
    assert one.run.latest is first

    work(worker)
    one.sample()
    assert one.run.latest is not first


def test_process_that_has_ended_is_told_as_such(worker, tmp_path):
    job = RunDirectory(str(tmp_path))
    one = FollowedProcess.of(worker.pid, process_began(worker.pid), False, job)
    worker.kill()
    worker.wait()
    with pytest.raises(ProcessLookupError, match="has ended"):
        one.sample()
