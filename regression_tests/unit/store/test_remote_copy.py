"""What arrives of a run where it is copied to, whoever is killed and whatever the network does."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

from leakguard import LeakGuard, UnreadableRun, UsageError
from leakguard.store import load_job, remote_copy
from leakguard.store.remote_copy import RemoteCopy, _put, copy_changed, follow
from leakguard.testing import FakeClock
from regression_tests.benchmarks.faults.kills import killed_at, moments, some_of

pytest.importorskip("fsspec")


@pytest.fixture
def folder(tmp_path):
    with LeakGuard(out=f"{tmp_path}/own/", report=None, clock=FakeClock()) as guard:
        list(guard.generations(6))
    return tmp_path / "own"


@pytest.fixture
def bucket(tmp_path):
    (tmp_path / "bucket").mkdir()
    return tmp_path / "bucket"


def arrived(folder, bucket):
    return {file.name: file.read_bytes() for file in folder.glob("*.jsonl")} == {
        file.name: file.read_bytes() for file in bucket.glob("*.jsonl")
    }


@pytest.mark.parametrize("kills", [20, pytest.param(300, marks=pytest.mark.heavy)])
def test_killed_at_any_moment_of_a_copy_there_is_no_run_or_one_that_can_be_read(
    folder, bucket, kills
):
    def copy():
        copy_changed(folder, f"file://{bucket}", {})

    seen = set()
    for moment in some_of(moments(copy, "fsspec|remote_copy"), kills):
        shutil.rmtree(bucket)
        bucket.mkdir()
        killed_at(moment, copy, "fsspec|remote_copy")
        try:
            seen.add(len(load_job(f"file://{bucket}").members))
        except UnreadableRun:
            seen.add(0)
        copy()
        assert arrived(folder, bucket)
    assert seen == {0, 1}


def test_copying_process_that_is_killed_is_begun_again_for_the_last_copy(folder, bucket):
    kept = {file.name: file.read_bytes() for file in folder.glob("*.jsonl")}
    copy = RemoteCopy(folder, f"file://{bucket}")
    copy._process.send_signal(signal.SIGKILL)
    copy._process.wait()
    copy.close()
    assert {file.name: file.read_bytes() for file in bucket.glob("*.jsonl")} == kept
    assert not folder.exists()


def test_trainer_that_is_killed_has_its_last_lines_copied(folder, bucket):
    """The end of its orders is all that the copying process hears of it."""
    kept = {file.name: file.read_bytes() for file in folder.glob("*.jsonl")}
    assert follow(folder, f"file://{bucket}", ended_orders()) == 0
    assert {file.name: file.read_bytes() for file in bucket.glob("*.jsonl")} == kept


def ended_orders():
    read, write = os.pipe()
    os.close(write)
    return os.fdopen(read, "rb")


def test_without_a_network_the_run_stays_where_it_is_and_its_place_is_said(
    folder, monkeypatch, capsys
):
    waited = []
    monkeypatch.setattr(remote_copy.time, "sleep", waited.append)
    assert follow(folder, "http://ada:pa55@127.0.0.1:9/job", ended_orders()) == 1
    assert waited == [0, 1, 2, 3, 4]
    said = capsys.readouterr().err
    assert said.startswith("leakguard: http://***@127.0.0.1:9/job: ")
    assert said.endswith(f"; the run is in {folder}\n")
    assert said.count("\n") == 1
    assert list(folder.glob("*.jsonl"))


def test_password_of_the_url_of_a_run_directory_is_in_no_message(capsys):
    with LeakGuard(out="memory://ada:pa55@host/job/", clock=FakeClock()) as guard:
        list(guard.generations(4))
    said = capsys.readouterr().err
    assert "leakguard report memory://***@host/job" in said
    for place in ("nonsense://ada:pa55@host/job/", "memory://ada:pa55@host/job.jsonl"):
        with pytest.raises(UsageError) as refused:
            LeakGuard(out=place).start()
        assert "***@host/job" in str(refused.value)
        said += str(refused.value)
    with pytest.raises(UnreadableRun) as unread:
        load_job("memory://ada:pa55@host/none")
    assert "pa55" not in said + str(unread.value)


def test_folder_that_is_not_there_is_made_and_a_bucket_is_not(folder, tmp_path):
    (folder / "a.jsonl").write_bytes(b"run")
    copy_changed(folder, f"file://{tmp_path}/new/job", {})
    assert (tmp_path / "new/job/a.jsonl").read_bytes() == b"run"

    class Bucket:
        protocol = ("s3", "s3a")

        def pipe_file(self, path, content):
            raise FileNotFoundError(path)

    with pytest.raises(FileNotFoundError):
        _put(Bucket(), "bucket/a.jsonl", b"")
