from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from reference_trainer.checkpoint import verify
from reference_trainer.errors import ConfigError
from reference_trainer.trainer import ERLTrainer
from reference_trainer.upload import UNFINISHED, Uploader, bucket_from_environment
from regression_tests.benchmarks.faults.kills import killed_at, moments, some_of


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "gen_000001"
    for name in ("a.json", "manifest.json", "buffer/rows_0_5.safetensors", "population/b.bin"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


class Bucket:
    """A stand-in for a file system: it remembers, waits and fails as it is told to."""

    def __init__(self, failures: int = 0, reason: str = "connection reset") -> None:
        self.failures, self.reason, self.names = failures, reason, []
        self.open = threading.Event()
        self.open.set()

    def makedirs(self, path: str, exist_ok: bool) -> None: ...

    def put_file(self, source: str, target: str) -> None:
        assert self.open.wait(10)
        if self.failures:
            self.failures -= 1
            raise OSError(self.reason)

    def mv(self, source: str, target: str) -> None:
        assert source == target + UNFINISHED
        self.names.append(target.removeprefix("/bucket/"))


def fail_on(bucket: Bucket, word: str) -> Any:
    def put_file(source: str, target: str) -> None:
        if word in target:
            raise OSError("connection reset")
        Bucket.put_file(bucket, source, target)

    return put_file


def uploader(bucket: Bucket, said: list[str] | None = None, **options: Any) -> Uploader:
    made = Uploader(
        "memory://bucket", (said if said is not None else []).append,
        sleep=lambda seconds: None, **options,
    )  # fmt: skip
    made.fs = bucket
    return made


def test_every_file_arrives_and_the_manifest_comes_last(checkpoint: Path) -> None:
    bucket = Bucket()
    sender = uploader(bucket)
    sender.enqueue(checkpoint)
    sender.close()
    assert bucket.names == [
        "gen_000001/a.json",
        "buffer/rows_0_5.safetensors",
        "gen_000001/population/b.bin",
        "gen_000001/manifest.json",
    ]


def test_a_batch_is_announced_once(checkpoint: Path) -> None:
    said: list[str] = []
    sender = uploader(Bucket(), said)
    sender.enqueue(checkpoint)
    sender.close()
    frame = "=" * 60
    assert said == [
        f"{frame}\nQueueing checkpoints for background upload...\n{frame}",
        "⏳ 4 files queued for checkpoints",
    ]


def test_a_segment_is_sent_once(checkpoint: Path) -> None:
    bucket = Bucket()
    sender = uploader(bucket)
    sender.enqueue(checkpoint)
    sender.enqueue(checkpoint)
    sender.close()
    assert bucket.names.count("buffer/rows_0_5.safetensors") == 1
    assert bucket.names.count("gen_000001/a.json") == 2


def test_failures_are_tried_again(checkpoint: Path) -> None:
    bucket = Bucket(failures=4)
    sender = uploader(bucket, attempts=5)
    sender.enqueue(checkpoint)
    sender.close()
    assert len(bucket.names) == 4
    assert not sender.failed


def test_a_file_that_never_arrives_is_named_and_the_rest_goes_on(checkpoint: Path) -> None:
    bucket, said = Bucket(failures=2), []
    sender = uploader(bucket, said, attempts=2)
    sender.enqueue(checkpoint)
    sender.close()
    assert bucket.names == ["buffer/rows_0_5.safetensors", "gen_000001/population/b.bin"]
    assert "gen_000001/a.json: connection reset" in sender.failed[0]
    assert "2 files failed" in said[-1]


def test_manifest_of_an_incomplete_checkpoint_is_held_back(checkpoint: Path) -> None:
    sender = uploader(Bucket(failures=1), attempts=1)
    sender.enqueue(checkpoint)
    sender.close()
    assert sender.failed[1].endswith(
        "gen_000001/manifest.json: not sent, because /bucket/gen_000001/a.json did not arrive"
    )


def test_a_segment_that_failed_is_sent_with_the_next_checkpoint(checkpoint: Path) -> None:
    bucket = Bucket()
    sender = uploader(bucket, attempts=1)
    put, bucket.put_file = bucket.put_file, fail_on(bucket, "buffer/")
    sender.enqueue(checkpoint)
    sender.drain(10)
    assert "gen_000001/manifest.json" not in bucket.names
    bucket.put_file = put  # type: ignore[method-assign]
    sender.enqueue(checkpoint)
    sender.close()
    assert bucket.names.count("buffer/rows_0_5.safetensors") == 1
    assert bucket.names[-1] == "gen_000001/manifest.json"


def test_a_full_queue_makes_the_trainer_wait(checkpoint: Path) -> None:
    bucket = Bucket()
    bucket.open.clear()
    sender = uploader(bucket, capacity=1)
    waiting = threading.Thread(target=sender.enqueue, args=(checkpoint,))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    assert sender.pending == 4
    bucket.open.set()
    waiting.join(10)
    assert not waiting.is_alive()
    sender.close()


def test_a_folder_is_leased_until_its_last_file_is_sent(checkpoint: Path) -> None:
    bucket = Bucket()
    bucket.open.clear()
    sender = uploader(bucket)
    sender.enqueue(checkpoint)
    assert sender.is_leased(checkpoint)
    assert "4 pending" in sender.status()
    bucket.open.set()
    assert sender.drain(10) == 0
    assert not sender.is_leased(checkpoint)
    sender.close()


def test_closing_gives_up_after_its_timeout_and_says_so(checkpoint: Path) -> None:
    bucket, said = Bucket(), []
    bucket.open.clear()
    sender = uploader(bucket, said)
    sender.enqueue(checkpoint)
    sender.close(timeout=0.05)
    assert said[-1] == "Upload status: 4 pending, given up after 0 s"
    bucket.open.set()


def test_uploaded_checkpoint_is_the_one_on_disk(
    trainer: Callable[..., ERLTrainer],
    run: Callable[[ERLTrainer, int], ERLTrainer],
    tmp_path: Path,
) -> None:
    made = run(trainer(upload=f"file://{tmp_path}/bucket"), 2)
    assert made.uploader is not None
    made.uploader.close()
    latest = made.checkpoints.latest()
    assert latest is not None
    for path in (p for p in latest.rglob("*") if p.is_file()):
        name = str(path.relative_to(latest))
        place = name if name.startswith("buffer/") else f"{latest.name}/{name}"
        assert (tmp_path / "bucket" / place).read_bytes() == path.read_bytes()


def test_unknown_protocol_is_refused_before_the_run() -> None:
    with pytest.raises(ConfigError, match="cannot upload to nowhere://x"):
        Uploader("nowhere://x", print)


def test_password_of_a_url_is_in_no_message(checkpoint: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        Uploader("nowhere://ada:pa55@host/x", print)
    assert str(refused.value).startswith("cannot upload to nowhere://***@host/x")

    bucket, said = Bucket(failures=99, reason="401 for s3://ada:pa55@host/x"), []
    sender = uploader(bucket, said, attempts=1)
    sender.enqueue(checkpoint)
    sender.close()
    assert "s3://***@host/x" in "".join(said)
    assert "pa55" not in "".join([*said, *sender.failed])


@pytest.mark.parametrize(
    ("provider", "bucket", "url"),
    [("gcs", "b", "gs://b"), ("s3", "b", "s3://b"), (None, "b", "gs://b"), ("gcs", None, None),
     (None, "file:///x", "file:///x")],
)  # fmt: skip
def test_bucket_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, provider: str | None, bucket: str | None, url: str | None
) -> None:
    for name, value in (("CLOUD_PROVIDER", provider), ("CLOUD_BUCKET", bucket)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert bucket_from_environment() == url


def test_memory_bucket_of_fsspec_receives_the_files(checkpoint: Path) -> None:
    sender = Uploader("memory://inbox", lambda text: None)
    sender.enqueue(checkpoint)
    sender.close()
    found = fsspec.filesystem("memory").find("/inbox")
    assert "/inbox/gen_000001/manifest.json" in found


def whole_checkpoints(bucket: Path) -> list[str]:
    """Names of folders with a manifest, once every file that it lists was found to be right."""
    whole = sorted(path.parent for path in bucket.glob("gen_*/manifest.json"))
    for folder in whole:
        shutil.copytree(bucket / "buffer", folder / "buffer", dirs_exist_ok=True)
        verify(folder)
        shutil.rmtree(folder / "buffer")
    return [folder.name for folder in whole]


@pytest.mark.parametrize("kills", [20, pytest.param(300, marks=pytest.mark.heavy)])
def test_killed_at_any_moment_of_an_upload_a_folder_with_a_manifest_is_whole(
    trainer: Callable[..., ERLTrainer],
    run: Callable[[ERLTrainer, int], ERLTrainer],
    tmp_path: Path,
    kills: int,
) -> None:
    made = run(trainer(checkpoint_every=1), 2)
    first, second = made.checkpoints.complete()
    bucket = tmp_path / "bucket"

    def send() -> None:
        sender = Uploader(f"file://{bucket}", lambda text: None)
        sender.enqueue(first)
        sender.enqueue(second)
        sender.close()

    seen = set()
    for moment in some_of(moments(send, "shutil"), kills):
        shutil.rmtree(bucket, ignore_errors=True)
        killed_at(moment, send, "shutil")
        arrived = whole_checkpoints(bucket)
        killed_at(
            moment // 2 + 1, send, "shutil"
        )  # a resumed run sends them again, and is killed again
        assert whole_checkpoints(bucket)[: len(arrived)] == arrived
        seen.add(len(arrived))
    assert seen == {0, 1, 2}
    send()
    assert whole_checkpoints(bucket) == [first.name, second.name]
