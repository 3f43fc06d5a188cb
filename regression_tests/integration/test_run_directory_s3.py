"""A run directory in an object store: what a killed trainer wrote arrives, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

import pytest

from leakguard.cli import main
from leakguard.store import load_job

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("s3fs")

PROGRAM = """
import os, sys, time
from leakguard import LeakGuard
kept = []
rank = int(os.environ["RANK"])
with LeakGuard(out="s3://runs/job/", report=None, max_overhead=None) as guard:
    for generation in guard.generations(range(1, 9)):
        rollout = [float(n) for n in range(20_000)]
        if rank == 1:
            kept.append(rollout)
    if rank == 1:
        print("looped", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nobody")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    fsspec.filesystem("s3").clear_instance_cache()
    fsspec.filesystem("s3").mkdir("runs")
    yield "s3://runs/job/"
    fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


def test_ranks_meet_in_a_bucket_and_a_killed_one_is_read_to_its_last_line(bucket, tmp_path, capsys):
    program = tmp_path / "train.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    ranks = [
        subprocess.Popen(
            [sys.executable, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "RANK": str(rank)},
        )
        for rank in range(2)
    ]
    assert ranks[1].stdout.readline() == b"looped\n"
    ranks[1].send_signal(signal.SIGKILL)
    for process in ranks:
        process.communicate()
    while len(fsspec.filesystem("s3").glob("runs/job/*", refresh=True)) < 2:
        time.sleep(0.1)
    job = load_job(bucket)
    assert [len(member.run.generations) for member in job.members] == [8, 8]
    assert [member.state for member in job.members] == ["finished", "unknown"]
    assert main(["report", bucket]) == 0
    assert "rank 1 grows, the other one does not" in " ".join(capsys.readouterr().out.split())
